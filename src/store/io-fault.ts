import { Diagnostic } from '../diagnostics/diagnostic.ts';

const reasons: Readonly<Record<string, string>> = {
  EACCES: 'permission denied',
  EPERM: 'the operation is not permitted',
  EROFS: 'the file system is read-only',
  ENOSPC: 'no space is left on the device',
  EDQUOT: 'the disk quota is used up',
  ENOENT: 'no such file or directory',
  ENOTDIR: 'a part of the path is not a directory',
  EISDIR: 'it is a directory',
  EEXIST: 'it exists already',
  ENOTEMPTY: 'it exists already',
  ELOOP: 'too many symbolic links',
  ENAMETOOLONG: 'the name is too long',
  EMFILE: 'too many files are open',
  ENFILE: 'too many files are open',
};

const hints: Readonly<Record<string, string>> = {
  ENOSPC: 'Free some space and run the command again.',
  EDQUOT: 'Free some space and run the command again.',
  EROFS: 'Work in a directory that can be written to.',
  EACCES: 'Check the owner and the permissions of the path.',
};

/** Whether the operating system refused a file operation, with one of `codes` when any are named. */
export function isErrno(error: unknown, ...codes: readonly string[]): error is NodeJS.ErrnoException {
  if (!(error instanceof Error) || !('syscall' in error) || !('code' in error)) return false;
  return codes.length === 0 || codes.includes(String(error.code));
}

/**
 * `E-IO-001` for a refusal of the operating system, in the words `<attempt>: <reason>`. Anything else is returned as it is,
 * so that `throw ioFault(error, …)` never hides a bug.
 */
export function ioFault(error: unknown, attempt: string): unknown {
  if (!isErrno(error)) return error;
  const code = error.code ?? '';
  const hint = hints[code];
  return new Diagnostic('E-IO-001', `${attempt}: ${reasons[code] ?? error.message}`, {
    cause: error,
    ...(hint === undefined ? {} : { hint }),
  });
}
