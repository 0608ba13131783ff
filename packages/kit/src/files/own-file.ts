/** Reads files that hold secrets: those of this user alone, which nobody else can have written or can read. */

import { type BigIntStats, closeSync, fstatSync, openSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

import { isErrno, isSystemError, systemReason } from '../diagnostics/system-reason.ts';
import { readFlags } from './held-directory.ts';
import { readFileUpTo } from './read-up-to.ts';

/** Whose a file has to be, and how long it may be; `uid` is undefined on systems that have no users of this kind. */
interface OwnFileRule {
  readonly uid: number | undefined;
  readonly maxBytes: number;
}

export type OwnFile =
  | { readonly kind: 'absent' }
  | { readonly kind: 'read'; readonly bytes: Buffer }
  /** `what` is wrong with it, as the end of a sentence that begins with the file. */
  | { readonly kind: 'refused'; readonly what: string; readonly cause?: unknown };

/** The bytes of such a file. Follows no link. */
export function readOwnFile(path: string, { uid, maxBytes }: OwnFileRule): OwnFile {
  let file: number;
  try {
    file = openSync(path, readFlags);
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return { kind: 'absent' };
    if (!isSystemError(error)) throw error;
    const what = isErrno(error, 'ELOOP') ? 'is a link' : `cannot be read: ${systemReason(error)}`;
    return { kind: 'refused', what, cause: error };
  }
  try {
    const what = faultOf(fstatSync(file, { bigint: true }), path, uid);
    if (what !== null) return { kind: 'refused', what };
    const bytes = readFileUpTo(file, maxBytes);
    return bytes === undefined
      ? { kind: 'refused', what: `is longer than ${maxBytes / 1024} KiB` }
      : { kind: 'read', bytes };
  } finally {
    closeSync(file);
  }
}

function faultOf(file: BigIntStats, path: string, uid: number | undefined): string | null {
  if (!file.isFile()) return 'is no regular file';
  const folder = statSync(dirname(path), { bigint: true });
  if (uid !== undefined) {
    if (file.uid !== BigInt(uid)) return 'is of another user';
    if ((file.mode & 0o077n) !== 0n) return 'can be read or written by other users';
    if (folder.uid !== BigInt(uid)) return 'is in a folder of another user';
    if ((folder.mode & 0o002n) !== 0n) return 'is in a folder that every user can write to';
  }
  return file.nlink === 1n ? null : 'has a second name';
}
