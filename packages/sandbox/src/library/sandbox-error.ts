/** The errors that users of the library can act on. */

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';

const codes = ['E-CAP-001', 'E-CAP-003', 'E-CAP-019', 'E-CAP-020', 'E-CAP-021'] as const;

/**
 * - `E-CAP-001`: a destination cannot be read
 * - `E-CAP-003`: this machine cannot enforce the class
 * - `E-CAP-019`: the request cannot be used: a path that is not there or is a link, a limit that is no number, no command
 * - `E-CAP-020`: the class cannot hold a grant
 * - `E-CAP-021`: the command was not started
 */
export type SandboxErrorCode = (typeof codes)[number];

/**
 * What `launch`, `explain` and `probe` throw when a request cannot be carried out; nothing was started. `launch` also throws the reason of a signal that
 * was aborted; anything else is a bug.
 */
export interface SandboxError extends Error {
  readonly code: SandboxErrorCode;
  /** What to do next. */
  readonly hint: string | undefined;
}

/** Whether an error is one of the library's own. */
export function isSandboxError(error: unknown): error is SandboxError {
  return error instanceof Diagnostic && codes.some((code) => code === error.code);
}
