import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { beforeEach, describe, expect, it } from 'vitest';

import { needsClass } from '../../packages/sandbox/test/needs-class.ts';
import { eachFolder } from '../support/each-folder.ts';

const checkout = fileURLToPath(new URL('../../', import.meta.url));

let home = '';

eachFolder('svc-sandbox-', (made) => {
  home = join(made, 'home');
  mkdirSync(home);
});

const file = (): string => join(home, '.svc', 'cache', 'containment.json');
/** The number of a file that is gone may be given to the next. */
const writtenAt = (path: string): bigint => statSync(path, { bigint: true }).mtimeNs;

interface Run {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

function sandboxOf(root: string, args: readonly string[]): Run {
  const { status, stdout, stderr } = spawnSync(process.execPath, [join(root, 'bin', 'svc-sandbox.cjs'), ...args], {
    cwd: home,
    env: { PATH: process.env['PATH'], HOME: home },
    encoding: 'utf8',
  });
  return { code: status, out: stdout, err: stderr.replaceAll(home, '') };
}

const sandbox = (...args: readonly string[]): Run => sandboxOf(checkout, args);

describe('svc-sandbox', () => {
  beforeEach(async (context) => {
    await needsClass(context, 'sealed');
    context.skip(/^Seccomp:\t[^0]/m.test(readFileSync('/proc/self/status', 'utf8')), 'runs behind a filter');
  });

  it('keeps in the home what it found of the host, and reads it the next time', () => {
    expect(sandbox('--', 'echo', 'one')).toEqual({ code: 0, out: 'one\n', err: '' });
    expect(statSync(file()).mode & 0o777).toBe(0o600);
    const first = writtenAt(file());
    expect(sandbox('--', 'echo', 'two').out).toBe('two\n');
    expect(writtenAt(file())).toBe(first);
    const kept = JSON.parse(readFileSync(file(), 'utf8')) as { key: string; ability: object };
    const ability = {
      ...kept.ability,
      root: null,
      obstacles: { sealed: 'it was kept so', scoped: null, filter: null },
    };
    writeFileSync(file(), JSON.stringify({ ...kept, ability }));
    expect(sandbox('--', 'true').err).toMatch(
      /^svc-sandbox: error\[E-CAP-003\]: class sealed was asked for and cannot be enforced here: it was kept so\n/,
    );
    // The option tries the host whatever the file says.
    expect(sandbox('--probe').out).toMatch(/^This machine can enforce sealed, /);
    expect(sandbox('--', 'true').code).toBe(0);
  });

  it.each([
    ['others may write what it kept', () => chmodSync(file(), 0o622)],
    [
      'the record is of another start of the machine',
      () => writeFileSync(file(), readFileSync(file(), 'utf8').replaceAll(/[0-9a-f]{8}-[0-9a-f]{4}/g, '$&0')),
    ],
    ['the file holds no record', () => writeFileSync(file(), '{"key":')],
  ])('tries the host anew when %s', (_why, spoil) => {
    sandbox('--', 'true');
    const first = readFileSync(file(), 'utf8');
    const before = writtenAt(file());
    spoil();
    expect(sandbox('--', 'true').code).toBe(0);
    expect([readFileSync(file(), 'utf8'), writtenAt(file()) === before]).toEqual([first, false]);
  });

  it('keeps nothing in the home of another user', (context) => {
    context.skip(process.getuid?.() !== 0, 'needs root, to have a home of another user');
    chownSync(home, 54_321, 54_321);
    expect(sandbox('--', 'true').code).toBe(0);
    expect(readdirSync(home)).toEqual([]);
  });

  it('keeps it from a command that may write in the home: mounted read only, or nothing starts', () => {
    const attack =
      'exec 2>/dev/null; echo x > .svc/cache/code; echo x > .svc/cache/containment.json; mv .svc aside; ls -A';
    expect(sandbox('--write', home, '--', 'sh', '-c', attack).out).toBe('.svc\n');
    expect(readdirSync(join(home, '.svc', 'cache'))).toEqual(['containment.json']);
    expect(sandbox('--write', home, '--class', 'scoped', '--', 'true')).toMatchObject({
      code: 125,
      err: expect.stringContaining(
        '/.svc/cache is a place from which svc-sandbox is started and lies in a directory',
      ) as string,
    });
    expect(sandbox('--write', join(home, '.svc', 'cache'), '--', 'true').err).toContain(
      'was granted for writing, and is or lies in "/.svc/cache", from which svc-sandbox is started',
    );
  });
});

describe('svc-sandbox in a folder that its user may write', () => {
  it('keeps what the engine compiled for the first command, and reads it for the next one', async (context) => {
    await needsClass(context, 'sealed');
    const installed = join(home, 'installed');
    for (const part of ['bin', 'dist/native']) cpSync(join(checkout, part), join(installed, part), { recursive: true });
    for (const part of ['package.json', 'dist/svc-sandbox.cjs'])
      copyFileSync(join(checkout, part), join(installed, part));
    const caches = (): string[] => readdirSync(join(installed, 'dist')).filter((name) => name.includes('.cache'));
    expect(sandboxOf(installed, ['--', 'echo', 'one']).out).toBe('one\n');
    const [name = ''] = caches();
    expect(name).toMatch(new RegExp(`^svc-sandbox\\.cjs\\.[0-9a-f]{16}\\.${process.version}-${process.arch}\\.cache$`));
    const first = writtenAt(join(installed, 'dist', name));
    expect(sandboxOf(installed, ['--', 'echo', 'two']).out).toBe('two\n');
    expect([caches(), writtenAt(join(installed, 'dist', name))]).toEqual([[name], first]);
    expect(existsSync(join(home, '.svc', 'cache', 'code'))).toBe(false);
  });
});
