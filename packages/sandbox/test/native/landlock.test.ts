import { copyFileSync, mkdtempSync, readFileSync, realpathSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { barePlan as bare, type LandlockRules, type LaunchPlan } from '../../src/launch/launch-plan.ts';
import { type NativeEnd, launchAsync, launchSync, users } from './support/launch.ts';
import { needs } from './support/needs.ts';

const attempts = fileURLToPath(new URL(`../../../../dist/native/linux-${process.arch}/svc-attempts`, import.meta.url));

function run(plan: Partial<LaunchPlan>, script: string, user?: number): NativeEnd {
  return launchSync({ plan: { ...bare, ...plan }, user, program: ['/usr/bin/bash', '-c', script] });
}

describe.each(users)('landlock, entered by %s,', (_name, user) => {
  let folder: string;
  beforeEach((context) => {
    needs(context, 'landlock');
    folder = realpathSync(mkdtempSync(join(tmpdir(), 'svc-landlock-')));
  });
  afterEach(() => {
    rmSync(folder, { recursive: true, force: true });
  });

  const firstRights = 0x1fffn;
  const [execute, readFile, readDirectory] = [1n, 4n, 8n];
  const system = [{ rights: execute | readFile | readDirectory, path: realpathSync('/usr') }];

  function confined(
    script: string,
    {
      paths = [],
      ports = [],
      handled = {},
    }: { paths?: LandlockRules['paths']; ports?: LandlockRules['ports']; handled?: Partial<LandlockRules['handled']> },
  ): NativeEnd {
    const all = { filesystem: firstRights, network: 0n, scope: 0n, ...handled };
    return run({ landlock: { handled: all, paths: [...system, ...paths], ports } }, script, user);
  }

  it('refuses what no rule allows', () => {
    const { stdout, stderr } = confined('cat /etc/hostname; ls /; test -r /usr/bin/env && echo seen', {});
    expect(stdout).toBe('seen\n');
    expect(stderr).toMatch(/hostname: Permission denied\n.*'\/': Permission denied/);
  });

  it('allows what a rule allows, below its path', () => {
    const paths = [{ rights: firstRights, path: folder }];
    if (user !== undefined) expect(run({}, `chmod 777 ${folder}`)).toMatchObject({ code: 0 });
    const { stdout, stderr } = confined(`mkdir ${folder}/a && echo text > ${folder}/a/b && cat ${folder}/a/b`, {
      paths,
    });
    expect({ stdout, stderr }).toEqual({ stdout: 'text\n', stderr: '' });
  });

  it('leaves out for a file what concerns directories alone', () => {
    run({}, `chmod 755 ${folder}; echo text > ${folder}/file; chmod 644 ${folder}/file`);
    const file = join(folder, 'file');
    expect(confined(`cat ${file}`, { paths: [{ rights: firstRights, path: file }] }).stdout).toBe('text\n');
    expect(confined(`cat ${file}`, { paths: [{ rights: readDirectory, path: file }] })).toMatchObject({
      stdout: '',
      code: 1,
    });
  });

  it.each([
    ['filesystem', { filesystem: 1n << 63n }],
    ['network', { network: 1n << 63n }],
    ['scope', { scope: 1n << 63n }],
    ['any', { filesystem: 0n }],
  ])('runs nothing with rights of %s that the kernel does not know', (_what, handled) => {
    const { code, status } = confined('true', { handled });
    expect(code).toBe(125);
    expect(status).toMatch(/^landlock \d+ the rights handled\n$/);
  });

  it('runs nothing with a rule for rights that are not handled, none, or of a path that is missing', () => {
    const status = (rights: bigint, path: string): string => confined('true', { paths: [{ rights, path }] }).status;
    expect(status(1n << 40n, '/usr')).toBe('landlock 22 /usr\n');
    expect(status(0n, '/usr')).toBe('landlock 42 /usr\n');
    expect(status(execute, '/nonexistent')).toBe('landlock 2 /nonexistent\n');
  });

  it('runs nothing with a rule that leads through a symbolic link', () => {
    run({}, `chmod 755 ${folder}`);
    symlinkSync('/etc', join(folder, 'link'));
    for (const path of [join(folder, 'link'), join(folder, 'link/ssl'), '/proc/self/root']) {
      const { code, status } = confined('true', { paths: [{ rights: execute, path }] });
      expect({ code, status }).toEqual({ code: 125, status: `landlock 40 ${path}\n` });
    }
  });

  it('refuses to empty a file by its name only where that is handled', () => {
    const [empty, file] = [join(folder, 'svc-attempts'), join(folder, 'file')];
    copyFileSync(attempts, empty);
    run({}, `chmod 755 ${folder} ${empty}; echo text > ${file}; chmod 666 ${file}`);
    const attempt = (filesystem: bigint): string => {
      const paths = [...system, { rights: execute | readFile, path: empty }];
      const landlock = { handled: { filesystem, network: 0n, scope: 0n }, paths, ports: [] };
      return launchSync({ plan: { ...bare, cwd: folder, landlock }, user, program: [empty, 'truncate', file] }).stdout;
    };
    const truncate = 1n << 14n;
    expect(attempt(firstRights | truncate)).toBe('refused EACCES\n');
    expect(readFileSync(file, 'utf8')).toBe('text\n');
    // To write to it is refused all the same: what empties it is another right.
    expect(attempt(firstRights)).toBe('allowed\n');
    expect(readFileSync(file, 'utf8')).toBe('');
  });

  it('refuses ports but those of a rule', (context) => {
    needs(context, 'landlockPorts');
    const script = 'echo > /dev/tcp/127.0.0.1/9; echo > /dev/tcp/127.0.0.1/10';
    const { stderr } = confined(script, { handled: { network: 3n }, ports: [{ rights: 2n, port: 10 }] });
    expect(stderr).toMatch(/\/9: Permission denied\n[^]*\/10: Connection refused\n/);
  });

  it('refuses signals to others, where that is handled', (context) => {
    needs(context, 'landlockScopes');
    const victim = launchAsync({ plan: bare, user, program: ['/usr/bin/sleep', '1000'] });
    const script = `kill -0 ${victim.pid} && echo could`;
    expect(confined(script, {}).stdout).toBe('could\n');
    expect(confined(script, { handled: { scope: 2n } })).toMatchObject({ stdout: '', code: 1 });
    victim.child.kill('SIGKILL');
  });
});
