import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmdirSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { describe, expect, it, onTestFinished, type TestContext } from 'vitest';

import { processStart } from '@svc/kit/process-stat.ts';

import { ownGroupDirectory, ownGroupFacts } from '../src/own-facts.ts';
import { needs } from './native/support/needs.ts';
import { isGone } from '../../../test/support/is-gone.ts';
import { type LimitedOptions, LimitedSession } from './limited-session.ts';
import { rootIsBounded } from './process-limit-of-root.ts';

const mebibyte = 1024 * 1024;

async function open(context: TestContext, options: LimitedOptions): Promise<LimitedSession> {
  needs(context, 'superuser', 'sealed', 'landlockScopes');
  const needsGroups = options.without?.includes('groups') !== true;
  context.skip(needsGroups && !rootIsBounded(), 'needs control groups that limit processes');
  return await LimitedSession.open(context, options);
}

/** The steps by which root is held, each forced: what is above it is taken for not there. */
const steps: readonly (readonly [step: RegExp, options: LimitedOptions])[] = [
  [/^cgroup-v[12]$/, { ceiling: 'advisory' }],
  [/^cgroup-v[12]$/, { ceiling: 'scoped' }],
  [/^cgroup-v[12]$/, { ceiling: 'sealed', without: ['users'] }],
  [/^user-namespace$/, { ceiling: 'sealed', without: ['groups'] }],
];

describe.each(steps)('root, held by %s with %j', (step, options) => {
  it('has no more processes at once than granted, of 600, and it is said by what', async (context) => {
    const session = await open(context, { ...options, limits: { processes: 64 } });
    expect(session.heldBy('processes', 'session')).toMatch(step);
    // The one that starts them is the sixty-fourth.
    expect(await session.forks(600)).toBe(63);
  });

  it('has them in all its launches together', async (context) => {
    const session = await open(context, { ...options, limits: { processes: 32 } });
    const counts = await session.forksTogether(3);
    expect(counts.reduce((sum, count) => sum + count, counts.length)).toBe(32);
  });

  it('starts nothing any more while the session is full', async (context) => {
    const session = await open(context, { ...options, limits: { processes: 8 } });
    const commands = ['bash', 'sleep'];
    const line = 'for i in 1 2 3 4 5 6 7; do sleep 100 & done; echo full; wait';
    const held = await session.launch('bash', ['-c', line], { commands });
    await once(held.stdout, 'data');
    await expect(session.bash('true')).rejects.toThrow('the host allows no more processes');
    held.kill('SIGKILL');
    await held.ended;
    expect((await session.bash('echo again')).out).toBe('again\n');
  });

  it('gets a notice when the limit was reached, and only then', async (context) => {
    const session = await open(context, { ...options, limits: { processes: 8 } });
    const { reached } = await session.bash('for i in 1 2 3 4 5 6 7 8 9; do sleep 3 & done; wait');
    expect(reached).toEqual([
      'the limit on processes was reached: 8 for all programs of the session, and no more were started',
    ]);
    expect((await session.bash('true')).reached).toEqual([]);
  });
});

describe('root, whom nothing holds,', () => {
  it.for(['advisory', 'scoped', 'sealed'] as const)('has a notice of that in %s', async (ceiling, context) => {
    const session = await open(context, { ceiling, without: ['groups', 'users'], limits: { processes: 16 } });
    expect(session.heldBy('processes', 'session')).toBe('none');
    expect(await session.forks(100)).toBe(100);
    expect((await session.bash('true')).reached).toEqual([]);
  });
});

describe('a session that is allowed more than one program', () => {
  it('holds each program to its own number, and all of them to theirs', async (context) => {
    const limits = { processes: 16, session_processes: 40 };
    const session = await open(context, { ceiling: 'sealed', without: ['groups'], limits });
    expect([session.heldBy('processes', 'program'), session.heldBy('processes', 'session')]).toEqual([
      'user-namespace',
      'user-namespace',
    ]);
    expect(await session.forks(600)).toBe(15);
    // How the four share what is left to them depends on who comes first.
    const counts = await session.forksTogether(4);
    expect(Math.max(...counts)).toBeLessThanOrEqual(15);
    const together = counts.reduce((sum, count) => sum + count, counts.length);
    expect(together).toBeGreaterThan(16);
    expect(together).toBeLessThanOrEqual(40);
  });
});

/** Ended, and the process that inherited it has not taken note yet. */
function isZombie(pid: string): boolean {
  return readFileSync(`/proc/${pid}/stat`, 'latin1').includes(') Z ');
}

/** Eight programs that each fill 50 MiB and stay for a while. */
const fill = `for i in 1 2 3 4 5 6 7 8; do python3 -c 'b = bytearray(50 << 20)
import time
for at in range(0, len(b), 4096): b[at] = 1
time.sleep(3)
print("stayed", flush=True)' & done; wait`;

describe('the memory of a session', () => {
  const limits = { session_memory: 200 * mebibyte };

  it('has a control group: those that would take more end, and svc reports it', async (context) => {
    const session = await open(context, { ceiling: 'scoped', limits });
    const by = session.heldBy('memory', 'session') ?? '';
    context.skip(!by.startsWith('cgroup'), 'needs control groups that limit memory');
    const { out, reached } = await session.bash(fill);
    expect(out.split('stayed').length - 1).toBeLessThan(4);
    expect(reached).toEqual([
      `the limit on memory was reached: ${200 * mebibyte} bytes for all programs of the session, and some that ran were ended`,
    ]);
    expect((await session.bash('echo again')).out).toBe('again\n');
  });

  it('has a watch where nothing else limits it: all that run end, and svc reports it', async (context) => {
    const session = await open(context, { ceiling: 'sealed', without: ['groups'], limits });
    expect(session.heldBy('memory', 'session')).toBe('watched');
    const { reached } = await session.bash(`${fill}; echo whole`);
    expect(reached).toEqual([
      `the limit on memory was reached: ${200 * mebibyte} bytes for all programs of the session, and all that ran were ended`,
    ]);
    expect((await session.bash('echo again')).out).toBe('again\n');
  });

  it('has no watch where programs can leave those by which they would be found', async (context) => {
    const session = await open(context, { ceiling: 'scoped', without: ['groups'], limits });
    expect(session.heldBy('memory', 'session')).toBe('none');
  });
});

describe('the workdir of a mapped session', () => {
  it('has 10,000 files of other owners and modes that are as they were', async (context) => {
    const session = await open(context, { ceiling: 'sealed', without: ['groups'] });
    const paths = Array.from({ length: 10_000 }, (_, index) => join(session.workdir, 'many', `${index}`));
    mkdirSync(join(session.workdir, 'many'));
    for (const [index, path] of paths.entries()) {
      writeFileSync(path, '');
      chownSync(path, index % 3 === 0 ? 0 : index, index % 5 === 0 ? 0 : index);
      chmodSync(path, 0o600 + (index % 0o77));
    }
    const ownerOf = (path: string): string => {
      const { uid, gid, mode } = statSync(path);
      return `${uid} ${gid} ${mode}`;
    };
    const before = paths.map(ownerOf);
    const { err } = await session.bash('cat many/0 > /dev/null; echo x > made; ls many > /dev/null');
    expect(err).toBe('');
    expect(paths.map(ownerOf)).toEqual(before);
    const { uid, gid } = statSync(join(session.workdir, 'made'));
    expect([uid, gid]).toEqual([0, 0]);
    // Thirty seconds are too few for the disk of a busy machine.
  }, 120_000);

  it('opens for programs that write to their outputs by name', async (context) => {
    const session = await open(context, { ceiling: 'sealed', without: ['groups'] });
    const { out, err } = await session.bash('echo out > /dev/stdout; echo err > /dev/stderr; cat /dev/stdin');
    expect([out, err]).toEqual(['out\n', 'err\n']);
  });
});

/** Whether a process is in a group, which may be one of another session and go at any time. */
function holds(group: string, pid: string): boolean {
  try {
    return readFileSync(join(group, 'tasks'), 'latin1').split('\n').includes(pid);
  } catch (error) {
    if (!['ENOENT', 'ENODEV'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error;
    return false;
  }
}

describe('the groups of a session', () => {
  it('disappear with it, and what ran in them too', async (context) => {
    const session = await open(context, { ceiling: 'scoped', limits: { session_memory: 200 * mebibyte } });
    context.skip(session.heldBy('processes', 'session') !== 'cgroup-v1', 'needs control groups of version 1');
    const own = ['pids', 'memory'].map((controller) => ownGroupDirectory(ownGroupFacts(), controller) ?? '');
    // A process that is not yet apart from the command when the command ends would end with it.
    const apart = `setsid bash -c 'echo $$ > up; exec sleep 100' > /dev/null 2>&1 &`;
    const { out } = await session.bash(`${apart} until [ -s up ]; do sleep 0.01; done; cat up`);
    const groups = own.flatMap((directory) =>
      readdirSync(directory)
        .filter((name) => name.startsWith('svc-launches-'))
        .map((name) => join(directory, name))
        .filter((group) => holds(group, out.trim())),
    );
    expect(groups).toHaveLength(2);
    await session.close();
    expect(groups.filter((group) => existsSync(group))).toEqual([]);
    await expect.poll(() => isGone(out.trim()) || isZombie(out.trim())).toBe(true);
  });

  it('begin with the removal of empty ones whose process was killed, and of no others', async (context) => {
    const [killed, living] = ['killed', 'living'].map(() => spawn('sleep', ['1000']));
    onTestFinished(() => void living?.kill('SIGKILL'));
    const directory = ownGroupDirectory(ownGroupFacts(), 'pids') ?? tmpdir();
    const nameOf = (pid: number | undefined, namespace = readlinkSync('/proc/self/ns/pid')): string =>
      join(directory, `svc-launches-${/\d+/.exec(namespace)?.[0]}-${pid}-${processStart(pid ?? 0)}-a1B2c3`);
    const abandoned = nameOf(killed?.pid);
    const kept = [nameOf(living?.pid), nameOf(killed?.pid, 'pid:[1]'), join(directory, 'svc-launches-a1B2c3')];
    killed?.kill('SIGKILL');
    await once(killed as ChildProcess, 'exit');
    const session = await open(context, { ceiling: 'scoped', limits: { session_processes: 50 } });
    context.skip(session.heldBy('processes', 'session') !== 'cgroup-v1', 'needs control groups of version 1');
    for (const group of [abandoned, ...kept]) mkdirSync(group);
    try {
      await (await open(context, { ceiling: 'scoped', limits: { session_processes: 50 } })).bash('true');
      expect([abandoned, ...kept].map((group) => existsSync(group))).toEqual([false, true, true, true]);
    } finally {
      for (const group of [abandoned, ...kept]) if (existsSync(group)) rmdirSync(group);
    }
  });
});
