import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { barePlan as bare, type KeptUsers, type LaunchPlan } from '../../src/launch/launch-plan.ts';
import { keepUsers, type OpenUsers, unusedUser } from '../../src/limits/session-limits.ts';
import { launchAsync, launchSync, type NativeEnd } from './support/launch.ts';
import { helperPath } from './support/helper.ts';
import { needs } from './support/needs.ts';
import { composed } from './support/plans.ts';

const mapped = 0x10_0000;
const own: LaunchPlan['namespaces'] = ['mount', 'pid', 'ipc', 'net', 'uts', 'cgroup'];

let folder: string;
const opened: OpenUsers[] = [];
const children: ChildProcess[] = [];
beforeEach((context) => {
  needs(context, 'superuser', 'sealed');
  folder = mkdtempSync(join(tmpdir(), 'svc-users-'));
});
afterEach(() => {
  for (const each of opened.splice(0)) each.close();
  for (const each of children.splice(0)) each.kill('SIGKILL');
  rmSync(folder, { recursive: true, force: true });
});

async function session(over: Partial<KeptUsers> = {}): Promise<KeptUsers> {
  const users = await keepUsers(helperPath(), { outside: unusedUser(), self: { uid: 0, gid: 0 } });
  if (users === null) throw new Error('no namespace was made');
  opened.push(users);
  return { ...users.users, processes: null, around: null, ...over };
}

/** The system's programs and the folder, the one that can be written to. */
function inFolder(users: KeptUsers, over: Partial<LaunchPlan> = {}): LaunchPlan {
  const steps = [{ kind: 'bind', attributes: 6 | mapped, source: folder, target: folder }] as const;
  return composed(steps, { users, namespaces: own, cwd: folder, ...over });
}

function bash(plan: LaunchPlan, script: string): NativeEnd {
  return launchSync({ plan, program: ['/usr/bin/bash', '-c', script] });
}

const forks = (count: number): [string, string, string] => [helperPath(), 'forks', `${count}`];

describe('a program in a user namespace that was made before', () => {
  it('has user 0 without another group, and another user outside', async () => {
    const script = 'grep -E "^(Uid|Gid|Groups|CapEff|CapBnd):" /proc/self/status; cat /proc/self/uid_map';
    const { stdout, status } = bash({ ...bare, users: await session({ around: null }) }, script);
    expect(status).toBe('');
    const [uid, gid, groups, effective, bounding, map] = stdout.split('\n');
    expect([uid, gid, groups]).toEqual(['Uid:\t0\t0\t0\t0', 'Gid:\t0\t0\t0\t0', 'Groups:\t ']);
    expect([effective, bounding]).toEqual(['CapEff:\t0000000000000000', 'CapBnd:\t0000000000000000']);
    const outside = Number(map?.trim().split(/\s+/)[1]);
    expect(outside).toBeGreaterThanOrEqual(1_879_048_192);
    expect(outside).toBeLessThan(2_147_483_647);
  });

  it('cannot touch files of root and settings of the kernel, because of their owner, with nothing else around it', async () => {
    const secret = join(folder, 'secret');
    writeFileSync(secret, 'secret', { mode: 0o600 });
    chmodSync(folder, 0o755);
    const users = await session();
    const script = `for f in ${secret} /etc/shadow; do cat $f; done; echo x > /proc/sys/kernel/core_pattern; echo x > ${folder}/new`;
    expect(bash({ ...bare, users }, script).stderr.match(/Permission denied/g)).toHaveLength(4);
    expect(bash(bare, `cat ${secret}`).stdout).toBe('secret');
  });

  it('finds its own files where mounts are mapped, and what it makes belongs to root outside', async () => {
    mkdirSync(join(folder, 'kept'), { mode: 0o700 });
    writeFileSync(join(folder, 'kept', 'old'), 'old', { mode: 0o600 });
    const { stdout, stderr } = bash(
      inFolder(await session()),
      'cat kept/old; echo more >> kept/old; echo x > new; ls -ln new kept/old',
    );
    expect(stderr).toBe('');
    expect(stdout.match(/ 0 +0 /g)).toHaveLength(2);
    expect([statSync(join(folder, 'new')).uid, statSync(join(folder, 'kept', 'old')).uid]).toEqual([0, 0]);
    expect(readFileSync(join(folder, 'kept', 'old'), 'utf8')).toBe('oldmore\n');
  });

  it('has of files of others what everybody has, and changes no owner', async () => {
    const paths = ['open', 'closed'].map((name) => join(folder, name));
    for (const [index, path] of paths.entries()) {
      writeFileSync(path, 'x');
      chownSync(path, 1000, 1000);
      chmodSync(path, index === 0 ? 0o666 : 0o600);
    }
    const { stdout } = bash(inFolder(await session()), 'echo y >> open && echo wrote; echo y >> closed || echo not');
    expect(stdout).toBe('wrote\nnot\n');
    expect(paths.map((path) => statSync(path).uid)).toEqual([1000, 1000]);
  });

  it('does not start where a writable place cannot be mapped, and sees read-only places as they are', async () => {
    const users = await session();
    const proc = (attributes: number): LaunchPlan =>
      composed([{ kind: 'bind', attributes, source: '/proc/self/net', target: '/x' }], { users, namespaces: own });
    const plan = {
      ...proc(0),
      root: [...composed().root, { kind: 'bind', attributes: mapped, source: '/sys', target: '/x' }],
    } as const;
    expect(bash(plan, 'true')).toMatchObject({ code: 125, status: 'root 22 /sys\n' });
    const readOnly = {
      ...plan,
      root: [...composed().root, { kind: 'bind', attributes: 1 | mapped, source: '/sys', target: '/x' }],
    } as const;
    expect(bash(readOnly, 'ls /x | head -1').code).toBe(0);
  });

  it('shares the limit on processes with all others in it, whatever stands around them', async () => {
    const users = await session({ processes: 17, around: 1 });
    const limits = [{ resource: 6, soft: 16n, hard: 16n }];
    const forking = inFolder(users, { limits, root: [...inFolder(users).root, helperBind] });
    expect(launchSync({ plan: forking, program: forks(600) })).toMatchObject({ code: 0, stdout: '15\n' });
    const held = launchAsync({
      plan: inFolder(users, { limits }),
      program: ['/usr/bin/bash', '-c', 'for i in 1 2 3 4 5; do sleep 100 & done; echo six; wait'],
    });
    children.push(held.child);
    await once(held.stdout, 'data');
    expect(launchSync({ plan: forking, program: forks(600) })).toMatchObject({ code: 0, stdout: '9\n' });
    const full = launchAsync({
      plan: inFolder(users, { limits }),
      program: ['/usr/bin/bash', '-c', 'for i in 1 2 3 4 5 6 7 8 9; do sleep 100 & done; echo sixteen; wait'],
    });
    children.push(full.child);
    await once(full.stdout, 'data');
    expect(launchSync({ plan: forking, program: forks(1) })).toMatchObject({ code: 125 });
  });

  it('gets signals by way of the processes around it although these have another user', async () => {
    const users = await session({ processes: 17, around: 1 });
    const script = 'trap "echo heard; exit 7" TERM; echo ready; while :; do read -t 1 < <(:); sleep 0.05; done';
    const { child, pid, stdout, ended } = launchAsync({
      plan: inFolder(users),
      program: ['/usr/bin/bash', '-c', script],
    });
    children.push(child);
    let said = '';
    stdout.on('data', (chunk: Buffer) => (said += chunk.toString()));
    await expect.poll(() => said).toBe('ready\n');
    const real = Number(/^Uid:\t(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]);
    const program = Number(/^Uid:\t\d+\t(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]);
    expect(real).toBe(program + 1);
    process.kill(pid, 'SIGTERM');
    expect(await ended).toEqual({ code: 7, signal: null });
    expect(said).toBe('ready\nheard\n');
  });

  it('can neither signal nor look into one of another session', async () => {
    const one = launchAsync({ plan: { ...bare, users: await session() }, program: ['/usr/bin/sleep', '100'] });
    children.push(one.child);
    await one.status;
    const script = `kill -9 ${one.pid}; cat /proc/${one.pid}/environ`;
    const { stderr } = bash({ ...bare, users: await session() }, script);
    expect(stderr).toContain('Operation not permitted');
    expect(stderr).toContain('Permission denied');
    expect(one.child.exitCode).toBe(null);
  });
});

const helperBind = { kind: 'bind', attributes: 1, source: helperPath(), target: helperPath() } as const;

describe('namespaces of users', () => {
  it('serve an ordinary user for the own id only', async () => {
    const child = spawn(helperPath(), ['users', '1900000000'], {
      uid: 1000,
      gid: 1000,
      stdio: ['pipe', 'ignore', 'pipe'],
    });
    children.push(child);
    expect(String((await once(child.stderr, 'data'))[0])).toMatch(/^map 1 /);
  });

  it.for(['0', '2147483647', '-1', '1x', ''])('cannot be made for %j', async (uid) => {
    const child = spawn(helperPath(), ['users', uid], { stdio: ['ignore', 'ignore', 'pipe'] });
    expect(String((await once(child.stderr, 'data'))[0])).toBe('call 22 not the number of a user\n');
  });
});
