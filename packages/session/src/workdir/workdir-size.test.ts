import { spawn, spawnSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  closeSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readlinkSync,
  realpathSync,
  renameSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Writable } from 'node:stream';

import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { systemClock } from '@svc/kit/system-clock.ts';
import { directoryContract } from '../../../../test/support/beneath-contract.ts';
import { unlinkedBytes } from './unlinked-bytes.ts';
import { WorkdirSize, type WorkdirLimit } from './workdir-size.ts';

const isRoot = process.getuid?.() === 0;
const ordinaryUid = 65_534;
const hasProc = existsSync('/proc/self/fd');

let root: string;
let workdir: string;
beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), 'svc-size-')));
  chmodSync(root, 0o755);
  workdir = join(root, 'work/child');
  mkdirSync(join(workdir, 'deep'), { recursive: true });
});
// Paths in it may be too long for Node.
afterEach(() => void spawnSync('rm', ['-rf', root]));

const clock = { monotonicMs: () => 0, after: () => () => {} };

function sizeOf(limit: Partial<WorkdirLimit> = {}): WorkdirSize {
  const uid = isRoot ? ordinaryUid : (process.getuid?.() ?? 0);
  return new WorkdirSize({ workdir, maxBytes: 10, uid, clock, programsRun: () => false, ...limit });
}

async function check(limit: Partial<WorkdirLimit> = {}): Promise<void> {
  await sizeOf(limit).check();
}

/** A root process may enter everything, so that it gives its rights up for a while. */
async function asOrdinaryUser<T>(work: () => Promise<T>): Promise<T> {
  if (isRoot) process.seteuid?.(ordinaryUid);
  try {
    return await work();
  } finally {
    if (isRoot) process.seteuid?.(0);
  }
}

/** Directories in one another, made and left by descriptors: their path is longer than any path may be. */
function makeDeep(levels: number, name: string): string {
  let fd = openSync(workdir, 'r');
  for (let level = 0; level < levels; level += 1) {
    const path = `/proc/self/fd/${fd}/${name}`;
    mkdirSync(path);
    const next = openSync(path, 'r');
    closeSync(fd);
    fd = next;
  }
  const place = `/proc/self/fd/${fd}`;
  writeFileSync(`${place}/large`, 'x'.repeat(100));
  closeSync(fd);
  return place;
}

describe('the size of a workdir', () => {
  const prepare = (directory: string, isDecoy: boolean): void =>
    writeFileSync(join(directory, 'file'), 'x'.repeat(isDecoy ? 1000 : 100));
  async function isMeasured(directory: string): Promise<boolean> {
    const outcome = await check({ workdir: directory }).catch(String);
    if (outcome?.includes('the workdir holds 100 bytes') === false) throw new Error(outcome);
    return outcome !== undefined;
  }
  directoryContract('when measured', { prepare, reach: isMeasured });
  directoryContract('with all that is below it', {
    prepare,
    reach: async (directory) => await isMeasured(join(directory, '../../..')),
  });

  it('counts all files in it, and a breach says how large it is', async () => {
    writeFileSync(join(workdir, 'file'), 'x'.repeat(4));
    writeFileSync(join(workdir, 'deep/file'), 'x'.repeat(6));
    await check();
    writeFileSync(join(workdir, 'deep/more'), 'x');
    await expect(check()).rejects.toMatchObject({
      code: 'E-RUN-028',
      message: 'the workdir holds 11 bytes, more than the 10 it may hold',
    });
  });

  it('counts files and directories whose names are no text', async () => {
    const named = (...bytes: number[]): Buffer => Buffer.concat([Buffer.from(`${workdir}/`), Buffer.from(bytes)]);
    writeFileSync(named(0xff), 'x'.repeat(4));
    mkdirSync(named(0x64, 0xfe));
    writeFileSync(named(0x64, 0xfe, 0x2f, 0xc3), 'x'.repeat(7));
    await expect(check()).rejects.toThrow('the workdir holds 11 bytes, more than the 10 it may hold');
  });

  it('leaves out what links in it lead to', async () => {
    writeFileSync(join(root, 'large'), 'x'.repeat(100));
    symlinkSync(join(root, 'large'), join(workdir, 'link'));
    symlinkSync(root, join(workdir, 'deep/link'));
    await expect(check()).resolves.toBeUndefined();
  });

  it('counts what many links and small files take, beyond 64 MiB', async (context) => {
    const link = join(workdir, 'link');
    symlinkSync('x'.repeat(4000), link);
    context.skip(lstatSync(link).blocks < 8, 'this file system keeps links and small files in less than 4 KiB');
    writeFileSync(join(workdir, 'file'), 'x');
    for (let index = 0; index < 9000; index += 1) {
      symlinkSync('x'.repeat(4000), join(workdir, `deep/link-${index}`));
      writeFileSync(join(workdir, `deep/file-${index}`), 'x');
    }
    await expect(check({ maxBytes: 1_000_000 })).rejects.toThrow(
      /^the workdir holds \d{7} bytes, more than the 1000000 it may hold$/,
    );
  }, 60_000);

  it.skipIf(!hasProc).each(['work/child', 'work'])(
    'excludes another directory, to which a link at %s leads (skipped without /proc)',
    async (part) => {
      mkdirSync(join(root, 'elsewhere/child'), { recursive: true });
      for (const place of ['', 'child/']) writeFileSync(join(root, 'elsewhere', `${place}large`), 'x'.repeat(100));
      renameSync(join(root, part), join(root, 'moved'));
      symlinkSync(join(root, 'elsewhere'), join(root, part));
      await expect(check()).resolves.toBeUndefined();
    },
  );

  it.skipIf(!hasProc)('holds the workdir no longer than it looks (skipped without /proc)', async () => {
    await check();
    expect(heldBelow(root)).toEqual([]);
  });

  it.skipIf(!hasProc)('counts a file whose path is longer than a path may be (skipped without /proc)', async () => {
    makeDeep(30, 'd'.repeat(200));
    await expect(check()).rejects.toThrow('the workdir holds 100 bytes, more than the 10 it may hold');
  });

  it.skipIf(!hasProc)(
    'breaches the limit where directories lie too deep to be measured (skipped without /proc)',
    async () => {
      makeDeep(300, 'd');
      await expect(check()).rejects.toMatchObject({
        code: 'E-RUN-028',
        message: expect.stringMatching(
          /^the workdir cannot be held to 10 bytes: d\/d\/.* is more than 256 directories deep$/,
        ),
      });
      expect(heldBelow(root)).toEqual([]);
    },
  );

  it.each([
    [0o000, 'deep cannot be looked at: permission denied'],
    [0o400, 'deep/file cannot be looked at: permission denied'],
  ])('breaches the limit where a directory of mode %o cannot be read', async (mode, reason) => {
    writeFileSync(join(workdir, 'deep/file'), 'x');
    chmodSync(join(workdir, 'deep'), mode);
    if (isRoot) chownSync(join(workdir, 'deep'), ordinaryUid, ordinaryUid);
    await asOrdinaryUser(async () => {
      await expect(check()).rejects.toMatchObject({
        code: 'E-RUN-028',
        message: `the workdir cannot be held to 10 bytes: ${reason}`,
      });
    });
    chmodSync(join(workdir, 'deep'), 0o700);
  });

  it.each([0o000, 0o200, 0o400, 0o600])('breaches the limit where the workdir itself has mode %o', async (mode) => {
    writeFileSync(join(workdir, 'file'), 'x'.repeat(100));
    if (isRoot) chownSync(workdir, ordinaryUid, ordinaryUid);
    chmodSync(workdir, mode);
    await asOrdinaryUser(async () => {
      await expect(check()).rejects.toMatchObject({
        code: 'E-RUN-028',
        message: expect.stringMatching(
          /^the workdir cannot be held to 10 bytes: \S+ cannot be looked at: permission denied$/,
        ),
      });
    });
    chmodSync(workdir, 0o755);
  });

  it('excludes a directory of another user, which no program of the session may enter', async (context) => {
    context.skip(!isRoot, 'another user is needed');
    chmodSync(join(workdir, 'deep'), 0o700);
    await asOrdinaryUser(async () => await expect(check()).resolves.toBeUndefined());
  });

  it('breaches the limit where a directory of another user can be entered and not listed', async (context) => {
    context.skip(!isRoot, 'another user is needed');
    chmodSync(join(workdir, 'deep'), 0o733);
    await asOrdinaryUser(async () => await expect(check()).rejects.toThrow('deep cannot be looked at'));
  });

  it.skipIf(process.platform !== 'linux')(
    'counts space that is set aside beyond the size of a file (skipped off Linux)',
    async (context) => {
      writeFileSync(join(workdir, 'empty'), '');
      const made = spawnSync('fallocate', ['--keep-size', '--length', '1048576', join(workdir, 'empty')]);
      context.skip(made.status !== 0, 'the file system sets no space aside');
      await expect(check({ maxBytes: 1_000_000 })).rejects.toThrow('the workdir holds 1048576 bytes');
    },
  );

  it.skipIf(!hasProc).each([
    ['open', 'import os, sys; f = open("removed", "w"); f.write("x" * 100); f.flush(); os.unlink("removed")'],
    [
      'open without ever having had a name',
      'import os; f = os.open(".", os.O_TMPFILE | os.O_RDWR); os.write(f, b"x" * 100)',
    ],
    [
      'mapped',
      'import mmap, os; f = open("removed", "w+b"); f.write(b"x" * 5000); f.flush(); m = mmap.mmap(f.fileno(), 0); f.close(); os.unlink("removed")',
    ],
    ['mapped and not open', `${mapsOnly('"removed"')}; os.close(fd)`],
    ['mapped, with a carriage return in its name', `${mapsOnly('"remo\\rved"')}; os.close(fd)`],
  ])('counts a removed file that a program has %s (skipped without /proc)', async (_how, source) => {
    const program = spawn('python3', ['-c', `${source}; print("ready", flush=True); input()`], { cwd: workdir });
    try {
      await new Promise((resolve) => program.stdout.once('data', resolve));
      await expect(check()).resolves.toBeUndefined();
      await expect(check({ programsRun: () => true })).rejects.toMatchObject({ code: 'E-RUN-028' });
      await expect(check({ programsRun: () => true, workdir: join(workdir, 'deep') })).resolves.toBeUndefined();
    } finally {
      program.kill('SIGKILL');
    }
  });
});

describe('looking for removed files', () => {
  it.skipIf(!hasProc)('counts one of a child whose path is too long to report (skipped without /proc)', async () => {
    const source =
      'import os; [(os.mkdir("d" * 250), os.chdir("d" * 250)) for _ in range(20)]; f = open("removed", "w"); f.write("x" * 100); f.flush(); os.unlink("removed"); print("ready", flush=True); input()';
    const child = spawn('python3', ['-c', source], { cwd: workdir });
    try {
      await new Promise((resolve) => child.stdout.once('data', resolve));
      await expect(check({ programsRun: () => true })).rejects.toThrow('the workdir holds 100 bytes');
    } finally {
      child.kill('SIGKILL');
    }
    const orphan = spawn('sh', ['-c', 'python3 -c "$0" <&3 & echo started', source], {
      cwd: join(workdir, 'deep'),
      stdio: ['ignore', 'pipe', 'ignore', 'pipe'],
    });
    try {
      await new Promise((resolve) => orphan.once('exit', resolve));
      await new Promise((resolve) =>
        orphan.stdout?.on('data', (text) => String(text).includes('ready') && resolve(null)),
      );
      await expect(check({ programsRun: () => true })).resolves.toBeUndefined();
    } finally {
      (orphan.stdio[3] as Writable).end();
    }
  });

  it.skipIf(!hasProc)('takes a step for each mapping of a program (skipped without /proc)', async () => {
    const mappings = 2000;
    // Neighbours of one kind are one mapping.
    const source = `${mapsOnly('"removed"')}; [map(4096, 0) for _ in range(${mappings})]`;
    const program = spawn('python3', ['-c', `${source}; print("ready", flush=True); input()`], { cwd: workdir });
    try {
      await new Promise((resolve) => program.stdout.once('data', resolve));
      const look = unlinkedBytes(workdir);
      let steps = 0;
      let step = look.next();
      for (; step.done !== true; step = look.next()) steps += 1;
      expect(step.value).toBe(5000);
      expect(steps).toBeGreaterThan(mappings);
    } finally {
      program.kill('SIGKILL');
    }
  });
});

describe('measuring a large workdir', () => {
  beforeEach(() => {
    for (let index = 0; index < 300; index += 1) writeFileSync(join(workdir, `file-${index}`), 'x');
  });

  /** Each look finds the time of a slice over, so that the thread is given away at every one. */
  function slowClock(): WorkdirLimit['clock'] {
    let now = 0;
    return { monotonicMs: () => (now += 1000), after: (ms, callback) => systemClock.after(ms, callback) };
  }

  it('yields the thread and finds the breach later, also by a signal', async () => {
    const size = sizeOf({ clock: slowClock() });
    size.begin();
    expect(size.breached.aborted).toBe(false);
    await expect(size.settled(new AbortController().signal)).rejects.toThrow('the workdir holds 300 bytes');
    expect(size.breached.reason).toMatchObject({ code: 'E-RUN-028' });
    await expect(size.check()).rejects.toThrow('the workdir holds 300 bytes');
  });

  it('does not keep a turn waiting for longer than it has patience', async () => {
    const size = sizeOf({ clock: { ...slowClock(), after: (_ms, callback) => (callback(), () => {}) } });
    await expect(size.check()).resolves.toBeUndefined();
    await expect(size.settled(new AbortController().signal)).rejects.toThrow('the workdir holds 300 bytes');
  });

  it('does not keep a task that is canceled', async () => {
    const size = sizeOf({ clock: slowClock() });
    size.begin();
    await expect(size.settled(AbortSignal.abort())).resolves.toBeUndefined();
    size.close();
    await expect.poll(() => heldBelow(root)).toEqual([]);
    expect(size.breached.aborted).toBe(false);
  });

  it('rests after each slice while nobody waits for it, and never while a caller does', async () => {
    const rests: number[] = [];
    const after: WorkdirLimit['clock']['after'] = (ms, callback) => {
      rests.push(ms);
      return systemClock.after(ms, callback);
    };
    const size = sizeOf({ clock: { ...slowClock(), after } });
    size.begin();
    expect(rests).toEqual([2]);
    await expect(size.settled(new AbortController().signal)).rejects.toThrow('the workdir holds 300 bytes');
    expect(rests).toEqual([2]);
  });

  it('comes back as soon as if it had not rested', async () => {
    let now = 0;
    const after: WorkdirLimit['clock']['after'] = (_ms, callback) => {
      now += 10_000;
      return systemClock.after(0, callback);
    };
    const size = sizeOf({ maxBytes: 300, clock: { monotonicMs: () => (now += 1), after } });
    size.begin();
    await expect.poll(() => heldBelow(root)).toEqual([]);
    expect(now).toBeGreaterThan(50_000);
    writeFileSync(join(workdir, 'more'), 'x');
    // Twenty times what the slices took.
    now += 1000;
    size.begin();
    await expect(size.settled(new AbortController().signal)).rejects.toThrow('the workdir holds 301 bytes');
  });
});

/** Python that writes a file of 5000 bytes and removes it; `map` maps it without a descriptor of its own. */
function mapsOnly(name: string): string {
  return [
    'import ctypes, os',
    `fd = os.open(${name}, os.O_RDWR | os.O_CREAT)`,
    'os.write(fd, b"x" * 5000)',
    'libc = ctypes.CDLL(None)',
    'map = lambda length, offset: libc.mmap(None, ctypes.c_size_t(length), 1, 1, fd, ctypes.c_long(offset))',
    `os.unlink(${name})`,
    'map(8192, 0)',
  ].join('; ');
}

function heldBelow(directory: string): readonly string[] {
  const open = readdirSync('/proc/self/fd').filter((name) => existsSync(`/proc/self/fdinfo/${name}`));
  return open.map((name) => readlinkSync(`/proc/self/fd/${name}`)).filter((place) => place.startsWith(directory));
}
