/** Lets one process at a time change a file that several share. */

import { link, open, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';

import { Diagnostic } from '../diagnostics/diagnostic.ts';
import { isErrno } from '../diagnostics/system-reason.ts';
import { ioFault } from './io-fault.ts';
import { temporaryName } from './temporary-name.ts';

interface GuardPatience {
  readonly pauseMs: number;
  readonly maxAttempts: number;
  /** A guard is held for a few renames: one that was seen unchanged this often was left by a process that is gone. */
  readonly staleAfterAttempts: number;
}

const usualPatience: GuardPatience = { pauseMs: 10, maxAttempts: 6000, staleAfterAttempts: 1000 };

/**
 * Runs `body` while no other process runs one for `target`: the process that made the guard file beside it goes on. A guard that a
 * killed process left is taken over after ten seconds. `E-IO-001` when it cannot be made, or is not free for a minute.
 */
export async function withGuard<T>(target: string, body: () => Promise<T>, patience = usualPatience): Promise<T> {
  const path = join(dirname(target), `.${basename(target)}.guard`);
  try {
    await acquire(path, patience);
  } catch (error) {
    throw ioFault(error, `cannot write ${target}`);
  }
  try {
    return await body();
  } finally {
    await rm(path, { force: true });
  }
}

async function acquire(path: string, patience: GuardPatience): Promise<void> {
  let seen = '';
  let unchanged = 0;
  for (let attempt = 0; attempt < patience.maxAttempts; attempt += 1) {
    if (await tryCreate(path)) return;
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

async function tryCreate(path: string): Promise<boolean> {
  try {
    await (await open(path, 'wx', 0o644)).close();
    return true;
  } catch (error) {
    if (isErrno(error, 'EEXIST')) return false;
    throw error;
  }
}

/** What differs between the guard files of two holders; empty when there is no guard file. */
async function identityOf(path: string): Promise<string> {
  try {
    const { ino, mtimeNs } = await stat(path, { bigint: true });
    return `${ino}:${mtimeNs}`;
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return '';
    throw error;
  }
}

// Of several processes that find the same stale guard one moves it away; another may then move a fresh guard, and puts it back.
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
