import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';

import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { needsClass } from '../../packages/sandbox/test/needs-class.ts';
import { InstalledPackage } from '../support/installed-package.ts';

const readme = readFileSync(new URL('../../packages/sandbox/README.md', import.meta.url), 'utf8');
const run = promisify(execFile);

describe('the package @svc/sandbox, installed from its tarball', { timeout: 120_000 }, () => {
  let installed: InstalledPackage;
  beforeAll(async () => {
    installed = await InstalledPackage.install('sandbox');
  });
  afterAll(() => installed.remove());
  const at = (path: string): string => join(installed.folder, path);

  it('passes publint and "are the types wrong"', async () => {
    expect(await installed.problems()).toBe('');
  });

  it('brings everything along, and nothing that it does not need', () => {
    expect(readdirSync(at('node_modules')).filter((name) => !name.startsWith('.'))).toEqual(['@svc']);
    expect(readdirSync(at('node_modules/@svc'))).toEqual(['sandbox']);
    const files = readdirSync(at('node_modules/@svc/sandbox'), { recursive: true, encoding: 'utf8' });
    expect(files).toEqual(
      expect.arrayContaining(['LICENSE', 'README.md', 'THIRD-PARTY-LICENSES', 'dist/native/linux-x64/svc-launch']),
    );
    expect(files.filter((file) => file.endsWith('.ts') && !file.endsWith('.d.ts'))).toEqual([]);
  });

  it('contains a command from TypeScript as its README shows', async (context) => {
    await needsClass(context, 'sealed');
    const [, program = ''] = /```ts\n([^]*?)```/.exec(readme) ?? [];
    installed.write('notes.txt', 'four words in all\n');
    mkdirSync(at('out'), { recursive: true });
    const said = await installed.printedBy(program);
    expect(said).toMatch(/^0 4\n cat: .*\/id_ed25519: No such file or directory\n \[\]\n$/);
    expect(readFileSync(at('out/notes.txt'), 'utf8')).toBe('four words in all\n');
  });

  it('says what this machine enforces, and throws what it says it throws', async (context) => {
    await needsClass(context, 'sealed');
    const program = `
      import { explain, isSandboxError, launch, probe, type Explanation, type Grants, type Output, type Probe } from '@svc/sandbox';

      const { class: strongest }: Probe = await probe();
      const grants: Grants = { read: ['package.json'], network: ['a.example'] };
      const { files, network }: Explanation = await explain({ command: ['true'], grants });
      const granted = files.filter(({ why }) => why === 'granted').map(({ access }) => access);
      const { exitCode, endedBy }: Output = await (await launch({ command: ['sh', '-c', 'exit 4'] })).output();
      const code = await launch({ command: ['true'], grants: { read: ['gone'] } }).catch((error: unknown) => isSandboxError(error) ? error.code : error);
      console.log(strongest, granted.join(), network.join(), exitCode, endedBy, code);
    `;
    expect(await installed.printedBy(program)).toBe('sealed read a.example 4 command E-CAP-019\n');
  });

  it('has the program svc-sandbox, which runs what its README shows', async (context) => {
    await needsClass(context, 'sealed');
    const [, line = ''] = /```sh\nsvc-sandbox (.*)\n```/.exec(readme) ?? [];
    mkdirSync(at('project/.git'), { recursive: true });
    installed.write('project/Makefile', 'test:\n\t@echo made > made; echo x > .git/x; test ! -e .git/x && cat made\n');
    const program = at('node_modules/.bin/svc-sandbox');
    expect(existsSync(program)).toBe(true);
    const { stdout } = await run(program, line.split(' '), { cwd: at('project') });
    expect(stdout).toBe('made\n');
    expect((await run(program, ['--version'])).stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
  });
});
