/** The errors that users of the library can act on. */

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { refusedPrograms } from '../find-program.ts';

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

/** As `env` and `timeout` exit: 126 for a program that cannot be run, 127 for one that is not there, 125 for a failure of their own. */
export type StartStatus = 125 | 126 | 127;

const statuses: Readonly<Record<string, StartStatus>> = {
  [refusedPrograms.absent]: 127,
  [refusedPrograms.denied]: 126,
};

const hints: Readonly<Record<StartStatus, string>> = {
  125: 'probe() says what this machine can enforce, and explain() what the command would get',
  126: 'see that the file is executable and lies outside what the command may write, or grant runWritten',
  127: 'see that the program is installed and on PATH, where relative entries and those in writable places do not count',
};

/** `E-CAP-021`: nothing ran. */
export class StartRefusal extends Diagnostic {
  readonly status: StartStatus;

  /** `reason` is a clause for a person, as launchers give it. */
  constructor(program: string, reason: string) {
    const status = statuses[reason.split(';')[0] ?? ''] ?? 125;
    super('E-CAP-021', `${program} was not started: ${reason}`, { hint: hints[status] });
    this.status = status;
  }
}
