/** Turns what the operating system refuses into the errors that WASI knows. */

import { isSystemError } from '@svc/kit/diagnostics/system-reason.ts';
import { raise } from '../streams.ts';

/** The part of `wasi:filesystem/types#error-code` that this host gives. */
export type ErrorCode =
  | 'access'
  | 'bad-descriptor'
  | 'busy'
  | 'cross-device'
  | 'exist'
  | 'file-too-large'
  | 'illegal-byte-sequence'
  | 'insufficient-memory'
  | 'insufficient-space'
  | 'invalid'
  | 'io'
  | 'is-directory'
  | 'loop'
  | 'name-too-long'
  | 'no-entry'
  | 'not-directory'
  | 'not-empty'
  | 'not-permitted'
  | 'overflow'
  | 'quota'
  | 'read-only'
  | 'text-file-busy'
  | 'too-many-links'
  | 'unsupported';

const codes: Readonly<Record<string, ErrorCode>> = {
  EACCES: 'access',
  EBADF: 'bad-descriptor',
  EBUSY: 'busy',
  EDQUOT: 'quota',
  EEXIST: 'exist',
  EFBIG: 'file-too-large',
  EILSEQ: 'illegal-byte-sequence',
  EINVAL: 'invalid',
  EISDIR: 'is-directory',
  ELOOP: 'loop',
  EMFILE: 'quota',
  EMLINK: 'too-many-links',
  ENAMETOOLONG: 'name-too-long',
  ENFILE: 'quota',
  ENOENT: 'no-entry',
  ENOMEM: 'insufficient-memory',
  ENOSPC: 'insufficient-space',
  ENOTDIR: 'not-directory',
  ENOTEMPTY: 'not-empty',
  EOVERFLOW: 'overflow',
  EPERM: 'not-permitted',
  EROFS: 'read-only',
  ETXTBSY: 'text-file-busy',
  EXDEV: 'cross-device',
};

/** Ends the guest's call with this code. */
export function refuse(code: ErrorCode): never {
  return raise(code);
}

/** Runs a file operation; a refusal of the operating system ends the guest's call with its code. */
export function attempt<Result>(operation: () => Result): Result {
  try {
    return operation();
  } catch (error) {
    throw isSystemError(error) ? (codes[error.code] ?? 'io') : error;
  }
}
