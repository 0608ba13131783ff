/** Reports a task that came to no answer. */

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';

/** `E-RUN-059`: `what` happened to the task, and why. */
export function taskFailed(
  why: string,
  { what = 'the task failed', hint = null }: { what?: string; hint?: string | null } = {},
): Diagnostic {
  return new Diagnostic('E-RUN-059', `${what}: ${why}`, hint === null ? {} : { hint });
}
