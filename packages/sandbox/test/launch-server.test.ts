import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  closeSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { Server } from 'node:net';
import { release, tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';

import { describe, expect, it, type TestContext } from 'vitest';

import { containedEnvironment, containedTemporary, egressPort } from '../src/contained-environment.ts';
import { openPlace } from '../src/containment.ts';
import { hostContainment } from '../src/host-containment.ts';
import { minimalGrants } from '../src/launch/process-grants.ts';
import { LaunchServer } from '../src/launch-server.ts';
import type { Launcher, LaunchOutcome } from '../src/launcher.ts';
import type { SessionContainment } from '../src/session-containment.ts';
import { helperPath } from './native/support/helper.ts';
import { needs } from './native/support/needs.ts';
import { isGone } from '../../../test/support/is-gone.ts';
import { needsClass } from './needs-class.ts';

const packageRoot = fileURLToPath(new URL('../../../', import.meta.url));

interface Opened {
  readonly session: SessionContainment;
  readonly launch: (command: string, ...args: readonly string[]) => Promise<LaunchOutcome>;
  readonly prepare: NonNullable<Launcher['prepare']>;
}

async function open(context: TestContext, ceiling: 'sealed' | 'scoped' = 'scoped'): Promise<Opened> {
  await needsClass(context, ceiling);
  const home = realpathSync(mkdtempSync(join(tmpdir(), 'svc-server-')));
  const containment = await hostContainment({
    packageRoot,
    platform: process.platform,
    architecture: process.arch,
    uid: process.getuid?.() ?? 0,
    kernel: release(),
    cacheDirectory: join(home, 'cache'),
    temporaryDirectory: home,
    ceiling,
  });
  const place = { workdir: join(home, 'work'), privateDirectory: join(home, 'private') };
  mkdirSync(containedTemporary(place.workdir), { recursive: true });
  mkdirSync(place.privateDirectory);
  const session = await openPlace(containment, place, minimalGrants.limits);
  context.onTestFinished(async () => {
    await session.close();
    rmSync(home, { recursive: true });
  });
  const networkAllow = ceiling === 'sealed' ? [{ scheme: 'https', host: 'granted.example', port: 443 } as const] : [];
  const launcher = session.launcher({
    ...minimalGrants,
    commands: ['bash', 'cat', 'env', 'ls', 'sh', 'sleep'],
    networkAllow,
  });
  const env = containedEnvironment({ accessibleWorkdir: place.workdir, held: {}, allow: [], achieved: ceiling });
  return {
    session,
    launch: (command, ...args) => launcher.launch({ command, args, env, stdin: 'pipe' }),
    prepare: (request) => launcher.prepare?.(request),
  };
}

/** The helpers that stay of this process. */
function servers(): readonly number[] {
  const children = readdirSync('/proc/self/task').flatMap((task) =>
    readFileSync(`/proc/self/task/${task}/children`, 'utf8').split(' ').filter(Boolean).map(Number),
  );
  return children.filter((pid) => readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0')[1] === 'serve');
}

function parentOf(pid: number): number {
  return Number(/^PPid:\t(\d+)$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]);
}

/** How many sockets of this process listen in the network of a launch. */
function openListeners(): number {
  const { _getActiveHandles: handles } = process as unknown as { _getActiveHandles(this: void): readonly unknown[] };
  return handles().filter((handle) => handle instanceof Server && portOf(handle) === egressPort).length;
}

function portOf(server: Server): number | null {
  const address = server.address();
  return typeof address === 'object' ? (address?.port ?? null) : null;
}

function started(outcome: LaunchOutcome): Extract<LaunchOutcome, { kind: 'started' }>['process'] {
  if (outcome.kind === 'refused') throw new Error(outcome.reason);
  return outcome.process;
}

describe('the helper that stays', () => {
  it('starts with the first launch of a session, serves all of them, and ends with the session', async (context) => {
    const before = servers();
    const { session, launch } = await open(context);
    expect(servers()).toEqual(before);
    const all = await Promise.all(
      Array.from({ length: 8 }, async (_, index) => started(await launch('sh', '-c', `read x; exit ${index}`))),
    );
    const [server = 0, ...more] = servers().filter((pid) => !before.includes(pid));
    expect(more).toEqual([]);
    for (const { stdin } of all) stdin?.end('x\n');
    expect(await Promise.all(all.map(({ ended }) => ended))).toEqual(
      Array.from({ length: 8 }, (_, index) => ({ kind: 'exited', exitCode: index })),
    );
    await session.close();
    await expect.poll(() => isGone(server)).toBe(true);
  });

  it('passes the streams, the signals and the end of a program on', async (context) => {
    const { launch } = await open(context);
    const cat = started(await launch('cat'));
    cat.stdin?.end('in and out');
    expect(await text(cat.stdout)).toBe('in and out');
    expect(await cat.ended).toEqual({ kind: 'exited', exitCode: 0 });
    const sleep = started(await launch('sleep', '1000'));
    sleep.kill('SIGUSR1');
    expect(await sleep.ended).toEqual({ kind: 'signaled', signal: 'SIGUSR1' });
    const complaint = started(await launch('sh', '-c', 'kill -STOP $$; echo sorry >&2; exit 7'));
    complaint.kill('SIGCONT');
    const force = setInterval(() => complaint.kill('SIGCONT'), 20);
    expect([await text(complaint.stderr), await complaint.ended]).toEqual(['sorry\n', { kind: 'exited', exitCode: 7 }]);
    clearInterval(force);
  });

  it('refuses as a start without it does', async (context) => {
    const { launch } = await open(context);
    const refusal = { kind: 'refused', reason: 'the arguments are too long' };
    expect(await launch('cat', 'x'.repeat(200_000))).toEqual(refusal);
    expect(await launch('cat', ...Array.from({ length: 50 }, () => 'x'.repeat(100_000)))).toEqual(refusal);
  });

  it('takes with it what it started when it is killed, and the next launch has another one', async (context) => {
    const before = servers();
    const { launch } = await open(context);
    const sleep = started(await launch('sleep', '1000'));
    const server = servers().find((pid) => !before.includes(pid)) ?? 0;
    expect(server).toBeGreaterThan(1);
    process.kill(server, 'SIGKILL');
    expect(await sleep.ended).toEqual({ kind: 'signaled', signal: 'SIGKILL' });
    await expect.poll(() => isGone(sleep.pid)).toBe(true);
    const next = started(await launch('cat'));
    next.stdin?.end();
    expect(await next.ended).toEqual({ kind: 'exited', exitCode: 0 });
  });

  it('gives each of many launches that may reach a host a way out of its own, and nothing else', async (context) => {
    const before = servers();
    const listeners = openListeners();
    const { launch } = await open(context, 'sealed');
    const ask = (host: string): string =>
      `exec 7<>/dev/tcp/127.0.0.1/3128; printf 'GET http://${host}/ HTTP/1.1\\r\\nHost: ${host}\\r\\nConnection: close\\r\\n\\r\\n' >&7; cat <&7 >&2`;
    const hosts = Array.from({ length: 8 }, (_, index) => `host-${index}.example`);
    const all = await Promise.all(
      hosts.map(async (host) => {
        const script = `ls /proc/self/fd; env | grep CHANNEL; ${ask(host)}; read x`;
        return started(await launch('bash', '-c', script));
      }),
    );
    const [server = 0, ...more] = servers().filter((pid) => !before.includes(pid));
    expect(more).toEqual([]);
    for (const { pid } of all) expect(parentOf(pid)).toBe(server);
    for (const { stdin } of all) stdin?.end('x\n');
    // The last of them is the folder that `ls` reads.
    expect(await Promise.all(all.map(({ stdout }) => text(stdout)))).toEqual(hosts.map(() => '0\n1\n2\n3\n'));
    for (const { stderr, ended } of all) {
      expect(await text(stderr)).toContain(' 403 ');
      expect(await ended).toEqual({ kind: 'exited', exitCode: 0 });
    }
    for (const [at, { takeRefusedHosts }] of all.entries()) {
      const [sentence = '', ...others] = takeRefusedHosts?.() ?? [];
      expect(sentence).toContain(hosts[at]);
      expect(others).toEqual([]);
    }
    await expect.poll(openListeners).toBe(listeners);
  });

  it('takes the way out of a launch with it when it is killed', async (context) => {
    const before = servers();
    const listeners = openListeners();
    const { launch } = await open(context, 'sealed');
    const sleep = started(await launch('sleep', '1000'));
    expect(openListeners()).toBe(listeners + 1);
    process.kill(servers().find((pid) => !before.includes(pid)) ?? 0, 'SIGKILL');
    expect(await sleep.ended).toEqual({ kind: 'signaled', signal: 'SIGKILL' });
    await expect.poll(openListeners).toBe(listeners);
    const next = started(await launch('cat'));
    next.stdin?.end();
    expect(await next.ended).toEqual({ kind: 'exited', exitCode: 0 });
  });

  it('leaves a launch that ended before it led a group to be started without it', async (context) => {
    const folder = realpathSync(mkdtempSync(join(tmpdir(), 'svc-server-')));
    context.onTestFinished(() => rmSync(folder, { recursive: true }));
    // Only a kill within microseconds of the fork does this to the helper itself.
    const [helper, plan] = [join(folder, 'helper'), join(folder, 'plan')];
    const said = `for (const kind of [2, 3]) fs.writeSync(3, Buffer.from(new Uint32Array([1, kind, 9, 0]).buffer))`;
    const code = `const fs = require('fs'); fs.readSync(3, Buffer.alloc(64)); ${said}; fs.readSync(3, Buffer.alloc(1))`;
    writeFileSync(helper, `#!${process.execPath}\n${code}\n`, { mode: 0o755 });
    writeFileSync(plan, 'plan');
    const server = new LaunchServer(helper);
    const fd = openSync(plan, 'r');
    const what = { program: '/bin/true', argv: ['true'], env: {}, standard: [null, 1, 2] as const };
    expect(await server.launch({ plan: fd, filter: fd, ...what })).toBe('unserved');
    closeSync(fd);
    server.close();
  });

  it.each([
    ['lengths that are too large', [1, 0xffff_ffff, 0, 8, 1, 0, -1, -1, -1]],
    ['no argument', [1, 8, 0, 8, 0, 0, -1, -1, -1]],
    ['words without an end', [1, 1, 0, 4, 1, 0, -1, -1, -1]],
  ])('ends at a request with %s', async (_what, numbers) => {
    const child = spawn(helperPath(), ['serve', '/proc/self/fd'], {
      stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'ipc'],
    });
    const head = Buffer.alloc(36);
    numbers.forEach((number, index) => head.writeInt32LE(number | 0, 4 * index));
    const channel = child.stdio[3] as Duplex;
    channel.on('error', () => {});
    channel.write(Buffer.concat([head, Buffer.alloc(64, 'x')]));
    expect(await once(child, 'exit')).toEqual([125, null]);
  });

  it('says what is wrong with a plan each time that it is asked for it', async (context) => {
    needs(context);
    const child = spawn(helperPath(), ['serve', '/proc/self/fd'], {
      stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'ipc'],
    });
    context.onTestFinished(() => void child.kill('SIGKILL'));
    const channel = child.stdio[3] as Duplex;
    let said = '';
    channel.on('data', (chunk: Buffer) => (said += chunk.toString('latin1')));
    const words = Buffer.from('/bin/true\0true\0');
    const ask = async (id: number, plan: string): Promise<void> => {
      const head = Buffer.alloc(36);
      [id, plan.length, 0, words.length, 1, 0, -1, -1, -1].forEach((number, at) => head.writeInt32LE(number, 4 * at));
      channel.write(Buffer.concat([head, Buffer.from(plan), words]));
      const ended = Buffer.alloc(8);
      [id, 3].forEach((number, at) => ended.writeInt32LE(number, 4 * at));
      await expect.poll(() => said.includes(ended.toString('latin1'))).toBe(true);
    };
    const planOf = (last: string): string => `${['svc-launch-plan', '1', 'cwd', '/', last].join('\0')}\0`;
    await ask(1, planOf('end'));
    expect(said).not.toContain('plan 22');
    await ask(2, planOf('begin'));
    await ask(3, planOf('begin'));
    await ask(4, planOf('end'));
    expect(said.match(/plan 22 word \d+: [a-z ]+/g)).toHaveLength(2);
  });

  it('begins nothing where a stream cannot be opened', async (context) => {
    needs(context);
    const child = spawn(helperPath(), ['serve', '/proc/self/fd'], {
      stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'ipc'],
    });
    context.onTestFinished(() => void child.kill('SIGKILL'));
    const words = Buffer.from('/bin/true\0true\0');
    const head = Buffer.alloc(36);
    [7, 4, 0, words.length, 1, 0, -1, 999, -1].forEach((number, index) => head.writeInt32LE(number, 4 * index));
    const channel = child.stdio[3] as Duplex;
    channel.write(Buffer.concat([head, Buffer.from('plan'), words]));
    const [answer] = (await once(channel, 'data')) as [Buffer];
    expect([0, 4, 8, 12].map((at) => answer.readUInt32LE(at))).toEqual([7, 0, 0, 0]);
  });
});
