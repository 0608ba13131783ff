import { execFileSync } from 'node:child_process';
import {
  closeSync,
  constants,
  existsSync,
  mkdtempSync,
  openSync,
  readFileSync,
  readdirSync,
  readlinkSync,
  rmSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { barePlan as bare } from '../../src/launch/launch-plan.ts';
import { helperPath } from './support/helper.ts';
import { type NativeLaunch, type RunningLaunch, launchAsync, launchSync, users } from './support/launch.ts';
import { needs } from './support/needs.ts';
import { composed } from './support/plans.ts';

const running: RunningLaunch[] = [];
afterEach(() => {
  for (const { child } of running.splice(0)) child.kill('SIGKILL');
});

/** A launch whose program has said that it is up, and the lines it says from then on. */
async function start(launch: Omit<NativeLaunch, 'program'>, script: string): Promise<Started> {
  const launched = launchAsync({ ...launch, program: ['/usr/bin/sh', '-c', script] });
  running.push(launched);
  const lines = createInterface({ input: launched.stdout })[Symbol.asyncIterator]();
  const line = async (): Promise<string | undefined> => {
    const { value } = (await lines.next()) as IteratorResult<string, undefined>;
    return value;
  };
  expect(await line()).toBe('up');
  return { ...launched, line };
}

interface Started extends RunningLaunch {
  readonly line: () => Promise<string | undefined>;
}

/** What is still there when its starter is gone keeps the output open, and so the test waiting. */
const withDaemon = '(setsid sleep 1000 &); echo up;';

describe.each(users)('the processes of a launch by %s', (_name, user) => {
  beforeEach((context) => needs(context, 'sealed'));

  it('all end with the outer one, daemons too', async () => {
    const { child, ended } = await start({ plan: composed(), user }, `${withDaemon} sleep 1000`);
    child.kill('SIGKILL');
    expect(await ended).toEqual({ code: null, signal: 'SIGKILL' });
  });

  it('all end with the program, daemons too', async () => {
    const { ended } = await start({ plan: composed(), user }, `${withDaemon} exit 4`);
    expect(await ended).toEqual({ code: 4, signal: null });
  });

  it.each([
    ['in namespaces', composed()],
    ['in the host', bare],
  ])('end with the caller, however that ends, %s', async (_place, plan) => {
    const through = ['/usr/bin/sh', '-c', '"$@" & wait', 'sh'];
    const { child, ended } = await start({ plan, user, through }, 'echo up; exec sleep 1000');
    child.kill('SIGKILL');
    expect(await ended).toEqual({ code: null, signal: 'SIGKILL' });
  });

  it('end with the caller also when they became another user', async (context) => {
    needs(context, 'superuser');
    for (const plan of [bare, composed()]) {
      const through = ['/usr/bin/sh', '-c', '"$@" & wait', 'sh'];
      const identity = { uid: 1000, gid: 1000 };
      const { child, ended } = await start({ plan: { ...plan, identity }, through }, 'echo up; exec sleep 1000');
      child.kill('SIGKILL');
      expect(await ended).toEqual({ code: null, signal: 'SIGKILL' });
    }
  });

  it.each(['SIGTERM', 'SIGHUP', 'SIGINT', 'SIGUSR2'] as const)('pass %s on to the program, once', async (signal) => {
    const script = [
      'count=0',
      `trap 'count=$((count + 1)); echo got' ${signal.slice(3)}`,
      "trap 'echo $count; exit 7' USR1",
      'echo up',
      'while :; do sleep 1000 & wait; done',
    ].join('\n');
    const { pid, ended, line } = await start({ plan: composed(), user }, script);
    // To the whole group, as the runtime does.
    process.kill(-pid, signal);
    expect(await line()).toBe('got');
    process.kill(-pid, 'SIGUSR1');
    expect(await line()).toBe('1');
    expect(await ended).toEqual({ code: 7, signal: null });
  });

  it('pass a signal on to what the program has started in its group', async () => {
    const script = [
      "trap 'echo program' TERM",
      `sh -c 'trap "echo child; exit" TERM; echo up; while :; do sleep 1000 & wait; done'`,
      'exit 3',
    ].join('\n');
    const { pid, ended, line } = await start({ plan: composed(), user }, script);
    process.kill(pid, 'SIGTERM');
    expect([await line(), await line()]).toEqual(['child', 'program']);
    expect(await ended).toEqual({ code: 3, signal: null });
  });

  it('end by the signal that is passed on when the program does not catch it', async () => {
    const { pid, ended } = await start({ plan: composed(), user }, 'echo up; exec sleep 1000');
    process.kill(pid, 'SIGTERM');
    expect(await ended).toEqual({ code: null, signal: 'SIGTERM' });
  });

  it('stop and go on together', async () => {
    const script = "trap 'echo on; exit 0' CONT; echo up; while :; do sleep 1000 & wait; done";
    const { pid, line, ended } = await start({ plan: composed(), user }, script);
    const program = childOf(childOf(pid));
    process.kill(pid, 'SIGTSTP');
    await expect.poll(() => [stateOf(pid), stateOf(program)]).toEqual(['T', 'T']);
    process.kill(pid, 'SIGCONT');
    expect(await line()).toBe('on');
    expect(await ended).toEqual({ code: 0, signal: null });
  });

  it('let the status go as soon as the program runs', async () => {
    const { child, status } = await start({ plan: composed(), user }, 'echo up; exec sleep 1000');
    expect(await status).toBe('');
    expect(child.exitCode).toBeNull();
  });

  it('hold nothing and can do nothing when they belong to the helper', async (context) => {
    needs(context, 'superuser');
    const { pid } = await start({ plan: composed(), user }, 'echo up; exec sleep 1000');
    const first = childOf(pid);
    const held = (helper: number) => (): string[] =>
      readdirSync(`/proc/${helper}/fd`).map((name) => readlinkSync(`/proc/${helper}/fd/${name}`));
    // The program may run before those above it have come to rest.
    await expect.poll(held(first)).toEqual([]);
    await expect.poll(held(pid)).toEqual([expect.stringMatching(/^pipe:/)]);
    await expect.poll(() => readlinkSync(`/proc/${pid}/cwd`)).toBe('/');
    for (const helper of [pid, first]) {
      const status = (): string => readFileSync(`/proc/${helper}/status`, 'latin1');
      await expect
        .poll(status)
        .toMatch(/CapInh:\t0{16}\nCapPrm:\t0{16}\nCapEff:\t0{16}\nCapBnd:\t0{16}\nCapAmb:\t0{16}\nNoNewPrivs:\t1\n/);
    }
  });

  it('cannot be ended from inside but by the end of the program', () => {
    const script = 'kill -KILL 1; kill -STOP 1; kill -KILL -1; trap "" TERM; kill -TERM 1; ls -d /proc/1; exit 5';
    expect(launchSync({ plan: composed(), user, program: ['/usr/bin/sh', '-c', script] })).toMatchObject({
      code: 5,
      stdout: '/proc/1\n',
    });
  });

  it('leave no orphan unreaped', () => {
    const script = [
      'for name in a b c d; do (true &); done',
      // A process that has only just ended is there for a moment; a process that stays is never reaped.
      'tries=0 calm=0',
      'while [ $calm -lt 20 ] && [ $tries -lt 1000 ]; do',
      '  tries=$((tries + 1)) calm=$((calm + 1))',
      '  if grep -q "State:.Z" /proc/[0-9]*/status; then calm=0; fi',
      'done',
      'echo $calm',
    ].join('\n');
    expect(launchSync({ plan: composed(), user, program: ['/usr/bin/sh', '-c', script] }).stdout).toBe('20\n');
  });
});

describe('a launch whose caller has ended', () => {
  it('starts nothing: nobody reads the status any more', (context) => {
    needs(context);
    const folder = mkdtempSync(join(tmpdir(), 'svc-caller-'));
    const [fifo, mark] = [join(folder, 'fifo'), join(folder, 'ran')];
    execFileSync('mkfifo', [fifo]);
    const both = openSync(fifo, constants.O_RDWR);
    const status = openSync(fifo, constants.O_WRONLY);
    try {
      const launch = { plan: bare, program: ['/usr/bin/touch', mark], more: [status] } as const;
      // The helper's status is that of the pipe, in place of the one the launch made.
      const through = ['/usr/bin/sh', '-c', 'exec "$@" 5>&6', 'sh'];
      expect(launchSync({ ...launch, through }).code).toBe(0);
      expect(existsSync(mark)).toBe(true);
      rmSync(mark);
      closeSync(both);
      expect(launchSync({ ...launch, through }).code).toBe(125);
      expect(existsSync(mark)).toBe(false);
    } finally {
      closeSync(status);
      rmSync(folder, { recursive: true });
    }
  });
});

describe('a program in namespaces', () => {
  it('leads a group in the session of process 1, with its secure bits locked, visible to itself', (context) => {
    needs(context, 'sealed', 'compiler');
    const folder = mkdtempSync(join(tmpdir(), 'svc-probe-'));
    try {
      const probe = join(folder, 'probe');
      const source = new URL('support/probe.c', import.meta.url).pathname;
      execFileSync('cc', ['-static', '-o', probe, source]);
      const plan = composed([{ kind: 'bind', attributes: 7, source: probe, target: '/probe' }]);
      expect(launchSync({ plan, program: ['/probe'] }).stdout).toBe(
        'securebits 0xef\ndumpable 1\npdeathsig 0\nleads its group 1\nsession is that of process 1 1\n',
      );
      expect(launchSync({ plan: bare, program: [probe] }).stdout).toMatch(/^dumpable 1\npdeathsig 9$/m);
      expect(launchSync({ plan, program: [helperPath()] })).toMatchObject({ code: 125 });
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});

/** The only child of a process, in the numbers of the host. */
function childOf(pid: number): number {
  return Number(readFileSync(`/proc/${pid}/task/${pid}/children`, 'latin1').trim());
}

function stateOf(pid: number): string | undefined {
  return /\) (\w) /.exec(readFileSync(`/proc/${pid}/stat`, 'latin1'))?.[1];
}
