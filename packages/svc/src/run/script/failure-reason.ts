/** Words why a run of a script failed: as a diagnostic for people, as an object for programs. */

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import type { FailedTask } from '@svc/session/task/task.ts';
import { taskFailed } from '../../command/task-failed.ts';
import type { ResultReason } from './run-result.ts';

/** What the trace says of a failed task, under its own code, or else under `E-RUN-059` with what can be done about it. */
export function failureReason(
  { words, code, hint }: FailedTask,
  { isSpent, hintOf }: { readonly isSpent: boolean; readonly hintOf: (words: string) => string | null },
): Diagnostic {
  if (isSpent)
    return new Diagnostic('E-RUN-081', words, {
      hint: 'give more with --max-tokens, up to inference.max_session_tokens of the manifest, or a smaller task',
    });
  return code === null
    ? taskFailed(words, { hint: hintOf(words) })
    : new Diagnostic(code, words.slice(`${code}: `.length), hint === null ? {} : { hint });
}

/** A diagnostic as `reason` of the result has it; `failed` is the task that it is about, null when it is about none. */
export function encodeReason({ code, message, hint }: Diagnostic, failed: FailedTask | null): ResultReason {
  const retryable = code === 'E-RUN-059' ? (failed?.retryable ?? null) : isRetryable(code);
  return { code, message, hint: hint ?? null, retryable };
}

/** The run was cut off, or the model was silent. */
const passing: ReadonlySet<string> = new Set(['E-RUN-055', 'E-RUN-056', 'E-RUN-064']);
/** The same command comes to the same end: nobody can answer, the tokens are spent, there is no task, the manifest is wrong or not trusted, the host too weak. */
const lasting = /^E-(?:RUN-(?:024|053|054|081|180|181)|MAN-\d+|CAP-\d+)$/;

/** Whether the same command may succeed later, with nothing changed; null where the code does not say. */
function isRetryable(code: string): boolean | null {
  if (passing.has(code)) return true;
  return lasting.test(code) ? false : null;
}
