/** Lets one process at a time change a file that several share. */

import { type FileHandle, link, open, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';

import { Diagnostic } from '../diagnostics/diagnostic.ts';
import { isErrno } from '../diagnostics/system-reason.ts';
import { ioFault } from './io-fault.ts';
import { temporaryName } from './temporary-name.ts';
import { unlessRefusedLater } from './unless-refused.ts';

interface GuardPatience {
  readonly pauseMs: number;
  readonly maxAttempts: number;
  /** A guard that was seen unchanged this often was left by a process that is gone. */
  readonly staleAfterAttempts: number;
  /** How often who holds a guard changes it, so that it is not taken for one that was left. */
  readonly touchMs: number;
}

const usualPatience: GuardPatience = { pauseMs: 10, maxAttempts: 6000, staleAfterAttempts: 1000, touchMs: 1000 };

/**
 * Runs `body`, however long it takes, while no other process runs one for `target`: the process that made the guard file beside it goes on. A guard
 * that a killed process left, or one that has stood still for ten seconds, is taken over, and stays with who took it. `E-IO-001` when it cannot be
 * made, or is not free for a minute.
 */
export async function withGuard<T>(target: string, body: () => Promise<T>, patience = usualPatience): Promise<T> {
  const path = join(dirname(target), `.${basename(target)}.guard`);
  let guard: FileHandle;
  try {
    guard = await acquire(path, patience);
  } catch (error) {
    throw ioFault(error, `cannot write ${target}`);
  }
  const touching = setInterval(() => void touch(guard), patience.touchMs).unref();
  try {
    return await body();
  } finally {
    clearInterval(touching);
    await release(path, guard);
  }
}

/** Its time goes on by what it was, for which nobody asks a clock. One that cannot be changed is taken over. */
async function touch(guard: FileHandle): Promise<void> {
  await unlessRefusedLater(async () => {
    const { atimeMs, mtimeMs } = await guard.stat();
    await guard.utimes(atimeMs / 1000, mtimeMs / 1000 + 1);
  }, undefined);
}

/** While the file is open, no other has its number. */
async function release(path: string, guard: FileHandle): Promise<void> {
  try {
    const own = await guard.stat({ bigint: true });
    const there = await stat(path, { bigint: true }).catch(unlessAbsent);
    if (there?.ino === own.ino && there.dev === own.dev) await rm(path, { force: true });
  } finally {
    await guard.close();
  }
}

async function acquire(path: string, patience: GuardPatience): Promise<FileHandle> {
  let seen = '';
  let unchanged = 0;
  for (let attempt = 0; attempt < patience.maxAttempts; attempt += 1) {
    const guard = await tryCreate(path);
    if (guard !== null) return guard;
    const holder = await identityOf(path);
    unchanged = holder === seen ? unchanged + 1 : 0;
    seen = holder;
    if (unchanged >= patience.staleAfterAttempts) await takeAway(path, holder);
    else await pause(patience.pauseMs);
  }
  throw new Diagnostic('E-IO-001', `cannot make ${path}: other processes keep it`, {
    hint: 'wait for the other svc commands to end and run this one again',
  });
}

/** Returns null where one is there. */
async function tryCreate(path: string): Promise<FileHandle | null> {
  try {
    return await open(path, 'wx', 0o644);
  } catch (error) {
    if (isErrno(error, 'EEXIST')) return null;
    throw error;
  }
}

/** What differs between the guard files of two holders, and of one that holds its own; empty when there is no guard file. */
async function identityOf(path: string): Promise<string> {
  const there = await stat(path, { bigint: true }).catch(unlessAbsent);
  return there === null ? '' : `${there.ino}:${there.mtimeNs}`;
}

function unlessAbsent(error: unknown): null {
  if (isErrno(error, 'ENOENT')) return null;
  throw error;
}

// If several processes find the same stale guard, one moves it away; another may then move a fresh guard, and puts it back.
async function takeAway(path: string, stale: string): Promise<void> {
  const aside = join(dirname(path), temporaryName());
  try {
    await rename(path, aside);
    if ((await identityOf(aside)) !== stale) await link(aside, path);
  } catch (error) {
    if (!isErrno(error, 'ENOENT', 'EEXIST')) throw error;
  } finally {
    await rm(aside, { force: true });
  }
}
