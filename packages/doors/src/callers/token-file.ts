/** Reads the door tokens of a user from a file that nobody else can have written and nobody else can read. */

import { lstatSync } from 'node:fs';

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { isSystemError } from '@svc/kit/diagnostics/system-reason.ts';
import { identityOf } from '@svc/kit/files/file-identity.ts';
import { readOwnFile } from '@svc/kit/files/own-file.ts';
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
  const file = readOwnFile(place.path, { uid: place.uid, maxBytes });
  if (file.kind === 'absent') return null;
  if (file.kind === 'refused') throw notOwn(file.what, file.cause);
  const tokens = parseTokens(file.bytes.toString());
  if (typeof tokens !== 'string') return tokens;
  throw new Diagnostic('E-RUN-151', `${shown} ${tokens}`, {
    hint: 'restore it, or remove it and add the tokens anew',
  });
}

function notOwn(what: string, cause?: unknown): Diagnostic {
  return new Diagnostic('E-RUN-150', `${shown} ${what}`, {
    cause,
    hint: 'see who made it so; then chmod 600 it, or remove it and add the tokens anew',
  });
}
