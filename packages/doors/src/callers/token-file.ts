/** Reads the door tokens of a user from a file that nobody else can have written and nobody else can read. */

import { type BigIntStats, closeSync, fstatSync, lstatSync, openSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { isErrno, isSystemError, systemReason } from '@svc/kit/diagnostics/system-reason.ts';
import { identityOf } from '@svc/kit/files/file-identity.ts';
import { readFlags } from '@svc/kit/files/held-directory.ts';
import { readFileUpTo } from '@svc/kit/files/read-up-to.ts';
import { type DoorToken, parseTokens } from './door-token.ts';
import type { TokenPlace } from './token-place.ts';

const maxBytes = 64 * 1024;
const shown = '~/.svc/door-tokens.json';

/** Changes whenever the file is replaced or written to; null where there is no file. It opens nothing. */
export function tokenFileState({ path }: Pick<TokenPlace, 'path'>): string | null {
  try {
    const stat = lstatSync(path, { bigint: true, throwIfNoEntry: false });
    return stat === undefined ? null : `${identityOf(stat)} ${stat.mode} ${stat.uid} ${stat.nlink}`;
  } catch (error) {
    if (!isSystemError(error)) throw error;
    return error.code;
  }
}

/** The tokens of the file; null without a file. Throws `E-RUN-150` for a file that is not of this user alone, `E-RUN-151` for one without tokens. */
export function readTokens(place: TokenPlace): readonly DoorToken[] | null {
  const file = opened(place);
  if (file === null) return null;
  try {
    refuseOthers(fstatSync(file, { bigint: true }), place);
    const bytes = readFileUpTo(file, maxBytes);
    if (bytes === undefined) throw notOwn('is longer than 64 KiB');
    const tokens = parseTokens(bytes.toString());
    if (typeof tokens !== 'string') return tokens;
    throw new Diagnostic('E-RUN-151', `${shown} ${tokens}`, {
      hint: 'restore it, or remove it and add the tokens anew',
    });
  } finally {
    closeSync(file);
  }
}

function opened({ path }: TokenPlace): number | null {
  try {
    return openSync(path, readFlags);
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return null;
    if (!isSystemError(error)) throw error;
    throw notOwn(isErrno(error, 'ELOOP') ? 'is a link' : `cannot be read: ${systemReason(error)}`, error);
  }
}

function refuseOthers(file: BigIntStats, { path, uid }: TokenPlace): void {
  if (!file.isFile()) throw notOwn('is no regular file');
  const folder = statSync(dirname(path), { bigint: true });
  if (uid !== undefined) {
    if (file.uid !== BigInt(uid)) throw notOwn('is of another user');
    if ((file.mode & 0o077n) !== 0n) throw notOwn('can be read or written by other users');
    if (folder.uid !== BigInt(uid)) throw notOwn('is in a folder of another user');
    if ((folder.mode & 0o002n) !== 0n) throw notOwn('is in a folder that every user can write to');
  }
  if (file.nlink !== 1n) throw notOwn('has a second name');
}

function notOwn(what: string, cause?: unknown): Diagnostic {
  return new Diagnostic('E-RUN-150', `${shown} ${what}`, {
    cause,
    hint: 'see who made it so; then chmod 600 it, or remove it and add the tokens anew',
  });
}
