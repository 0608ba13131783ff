/** The error that users of the library can act on. */

import type { Problem } from './requests.ts';

/**
 * Why a capsule was not launched, with the code that `svc run` prints: `E-MAN-…` the manifest, `E-ART-…` and `E-REG-…` its artifacts, `E-CAP-…` containment,
 * `E-IO-…` a file, `E-RUN-…` the rest. Nothing of it runs.
 */
export class CapsuleError extends Error {
  readonly code: string;
  /** What to do next. */
  readonly hint: string | undefined;
  /** All that stands in the way, the first of them being this error. */
  readonly problems: readonly Problem[];

  constructor(problems: readonly [Problem, ...Problem[]], cause: unknown) {
    const [{ code, message, hint }] = problems;
    super(message, { cause });
    this.name = 'CapsuleError';
    this.code = code;
    this.hint = hint;
    this.problems = problems;
  }
}
