/** Says in a sentence why a file could not be reached. */

import { payloadOf } from '@svc/guest/wit-error.ts';
import { FileFault, shown } from './file-tree.ts';

const sentences: ReadonlyMap<unknown, string> = new Map([
  ['access', 'may not be accessed'],
  ['is-directory', 'is a directory'],
  ['loop', 'is or passes through a symbolic link that may not be followed'],
  ['name-too-long', 'is too long a name'],
  ['no-entry', 'does not exist'],
  ['not-directory', 'is not a directory, or something above it is not'],
  ['not-permitted', 'may not be accessed: it is outside the working directory, or writing is not permitted'],
  ['read-only', 'cannot be changed: the working directory is read-only'],
  ['insufficient-space', 'cannot be written: no space is left'],
  ['quota', 'cannot be written: no space is left'],
  ['file-too-large', 'cannot be written: it would be too large'],
  ['text-file-busy', 'cannot be changed while it is being executed'],
]);

/** An error code of `wasi:filesystem` as a sentence about `path`; any other error stays what it is. */
export function faultOf(error: unknown, path: string): unknown {
  const code = payloadOf(error);
  if (typeof code !== 'string') return error;
  return new FileFault(`${shown(path)} ${sentences.get(code) ?? `cannot be used (${code})`}`);
}
