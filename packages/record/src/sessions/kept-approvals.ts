/** Keeps the calls that a person has allowed in every session of a manifest. They lie in the home of that person, so no repository brings its own. */

import { type BigIntStats, closeSync, fstatSync, lstatSync, openSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { isErrno, isSystemError, systemReason } from '@svc/kit/diagnostics/system-reason.ts';
import { withGuard } from '@svc/kit/files/file-guard.ts';
import { readFlags } from '@svc/kit/files/held-directory.ts';
import { ioFault } from '@svc/kit/files/io-fault.ts';
import { makeDirectory } from '@svc/kit/files/make-directories.ts';
import { readFileUpTo } from '@svc/kit/files/read-up-to.ts';
import { replaceFile } from '@svc/kit/files/replace-file.ts';
import { namesIfThere } from '@svc/kit/files/unless-refused.ts';
import { type Guarded, isListOf, isObjectOf, isText, isWhole } from '@svc/kit/guards.ts';
import { sha256Hex } from '@svc/kit/sha256.ts';
import { parseJsonObject } from '@svc/protocol/json-object.ts';
import { thisUser } from './recorded-process.ts';

/** The most calls of one manifest. */
export const maxKept = 1000;
const maxBytes = 1024 * 1024;

const isKeptCall = isObjectOf({
  /** A hash of the call and of where its programs lie. */
  key: isText,
  /** The approval that allowed it. */
  id: isText,
  /** Unix milliseconds. */
  at: isWhole,
  by: isText,
  /** The beginning of the call, for a person. */
  call: isText,
});
const isKept = isObjectOf({
  /** Its real path. */
  manifest: isText,
  /** A hash of what the calls are bound to; with another one none of them counts. */
  bound: isText,
  calls: isListOf(isKeptCall),
});

export type KeptCall = Guarded<typeof isKeptCall>;

/** The file of one manifest. */
export type KeptApprovals = Guarded<typeof isKept>;

function folderOf(home: string): string {
  return join(home, '.svc', 'approvals');
}

/** `manifest` is the real path of the file. */
export function keptPath(home: string, manifest: string): string {
  return join(folderOf(home), `${sha256Hex(manifest)}.json`);
}

/** The files of all manifests. `E-IO-001` for a folder that cannot be listed. */
export function keptPaths(home: string): readonly string[] {
  const folder = folderOf(home);
  const names = namesIfThere(folder, `cannot read ${folder}`);
  return names.filter((name) => /^[0-9a-f]{64}\.json$/.test(name)).map((name) => join(folder, name));
}

/** Returns null without a file. Throws `W-APR-007` if others can have written or read it, or if it is not what `svc` wrote: callers warn, and go on without it. */
export function readKept(path: string): KeptApprovals | null {
  const file = opened(path);
  if (file === null) return null;
  try {
    const fault = faultOf(fstatSync(file, { bigint: true }), lstatSync(dirname(path), { bigint: true }));
    if (fault !== null) throw notUsable(path, fault);
    const text = readFileUpTo(file, maxBytes)?.toString();
    const kept = text === undefined ? null : parseJsonObject(text);
    if (!isKept(kept) || kept.calls.length > maxKept || basename(path) !== `${sha256Hex(kept.manifest)}.json`)
      throw notUsable(path, 'holds no approvals of its manifest');
    return kept;
  } finally {
    closeSync(file);
  }
}

/** One program at a time; null removes the file. The change is on the disk once this resolves. `W-APR-007` as above, `E-IO-001` for what cannot be written. */
export async function changeKept(
  path: string,
  change: (kept: KeptApprovals | null) => KeptApprovals | null,
): Promise<void> {
  await makeDirectory(dirname(path), 0o700);
  await withGuard(path, async () => {
    const kept = change(readKept(path));
    if (kept === null) await removeKept(path);
    else await replaceFile(path, [Buffer.from(`${JSON.stringify(kept)}\n`)], { mode: 0o600 });
  });
}

/** Also one that cannot be read. */
export async function removeKept(path: string): Promise<void> {
  try {
    await rm(path, { force: true });
  } catch (error) {
    throw ioFault(error, `cannot remove ${path}`);
  }
}

function opened(path: string): number | null {
  try {
    return openSync(path, readFlags);
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return null;
    if (!isSystemError(error)) throw error;
    throw notUsable(path, isErrno(error, 'ELOOP') ? 'is a link' : `cannot be read: ${systemReason(error)}`, error);
  }
}

function faultOf(file: BigIntStats, folder: BigIntStats): string | null {
  const user = thisUser();
  if (!file.isFile()) return 'is no regular file';
  if (!folder.isDirectory()) return 'is in a folder that is a link';
  if (user !== null && (file.uid !== BigInt(user) || folder.uid !== BigInt(user))) return 'is of another user';
  if ((file.mode & 0o077n) !== 0n) return 'can be read or written by other users';
  if ((folder.mode & 0o022n) !== 0n) return 'is in a folder that other users can write to';
  return file.nlink === 1n ? null : 'has a second name';
}

function notUsable(path: string, fault: string, cause?: unknown): Diagnostic {
  const message = `calls that were approved for every session do not count: ${path} ${fault}`;
  return new Diagnostic('W-APR-007', message, {
    cause,
    hint: 'see who made it so; svc approve --forget all removes what was approved so far',
  });
}
