/** Says in words why the operating system refused something. */

const reasons: Readonly<Record<string, string>> = {
  EACCES: 'permission denied',
  EPERM: 'operation not permitted',
  EEXIST: 'a file of that name is there',
  EISDIR: 'it is a directory',
  ENOTDIR: 'a part of the path is not a directory',
  EFTYPE: 'it is not a regular file',
  ENXIO: 'it is a socket',
  ENOENT: 'no such file or directory',
  ELOOP: 'too many symbolic links',
  ENAMETOOLONG: 'the path is too long',
  EAGAIN: 'too many processes, or too little memory for one more',
  EMFILE: 'too many open files',
  ENFILE: 'too many open files on this machine',
  EROFS: 'the file system is read-only',
  ENOSPC: 'no space left on the device',
  EDQUOT: 'the disk quota is used up',
  EIO: 'the device failed',
  EADDRNOTAVAIL: 'this machine has no such address',
  ENOTFOUND: 'no host has that name',
};

/** True for an error with a code: of the operating system, of a stream, of Node itself. */
export function isCoded(error: unknown): error is Error & { readonly code: string } {
  return error instanceof Error && 'code' in error && typeof error.code === 'string';
}

/** The code of an error that has one; undefined for any other. */
export function errorCode(error: unknown): string | undefined {
  return isCoded(error) ? error.code : undefined;
}

/** The code that something was refused with. An error without one is a bug and is thrown. */
export function refusalCode(error: unknown): string {
  const code = errorCode(error);
  if (code === undefined) throw error;
  return code;
}

/** True for an error of the operating system, such as one from `node:fs`. */
export function isSystemError(error: unknown): error is NodeJS.ErrnoException & { readonly code: string } {
  return isCoded(error) && 'syscall' in error;
}

/** Whether the operating system refused with one of `codes`. */
export function isErrno(error: unknown, ...codes: readonly string[]): boolean {
  return isSystemError(error) && codes.includes(error.code);
}

/** Why the operating system refused, as a clause for a person: `permission denied`. */
export function systemReason(error: { readonly code: string }): string {
  return reasons[error.code] ?? error.code;
}
