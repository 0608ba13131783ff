/** Turns a refusal of the operating system into an error that a person can act on. */

import { Diagnostic } from '../diagnostics/diagnostic.ts';
import { isSystemError, systemReason } from '../diagnostics/system-reason.ts';

const hints: Readonly<Record<string, string>> = {
  ENOSPC: 'free some space and run the command again',
  EDQUOT: 'free some space and run the command again',
  EROFS: 'work in a directory that can be written to',
  EACCES: 'check the owner and the permissions of the path',
};

/**
 * `E-IO-001` for a refusal of the operating system, in the words `<attempt>: <reason>`. Anything else is returned as it is,
 * so that `throw ioFault(error, …)` never hides a bug.
 */
export function ioFault(error: unknown, attempt: string): unknown {
  if (!isSystemError(error)) return error;
  const hint = hintFor(error);
  return new Diagnostic('E-IO-001', `${attempt}: ${systemReason(error)}`, {
    cause: error,
    ...(hint === undefined ? {} : { hint }),
  });
}

/** What to do about a refusal of the operating system; undefined where nothing helps in general, and for anything else. */
export function hintFor(error: unknown): string | undefined {
  return isSystemError(error) ? hints[error.code] : undefined;
}
