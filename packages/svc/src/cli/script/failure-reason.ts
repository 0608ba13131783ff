/** Words why a run of a script failed: as a diagnostic for people, as an object for programs. */

import { catalogue, type DiagnosticCode } from '@svc/kit/diagnostics/catalogue.ts';
import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import type { ResultReason } from './run-result.ts';

/** What the trace says of a failed task, under the code that it begins with, or else under `E-RUN-059`. */
export function failureReason(words: string, { isSpent }: { readonly isSpent: boolean }): Diagnostic {
  if (isSpent)
    return new Diagnostic('E-RUN-081', words, {
      hint: 'give more with --max-tokens, up to inference.max_session_tokens of the manifest, or a smaller task',
    });
  const [, code = '', message = ''] = /^(E-[A-Z]+-\d{3}): ([^]*)$/.exec(words) ?? [];
  if (isKnown(code)) return new Diagnostic(code, message);
  return new Diagnostic('E-RUN-059', `the task failed: ${words}`);
}

/** A diagnostic as `reason` of the result has it. */
export function encodeReason({ code, message, hint }: Diagnostic): ResultReason {
  return { code, message, hint: hint ?? null, retryable: isRetryable(code, message) };
}

function isKnown(code: string): code is DiagnosticCode {
  return Object.hasOwn(catalogue, code);
}

/** The run was cut off, or the model was silent. */
const passing: ReadonlySet<string> = new Set(['E-RUN-055', 'E-RUN-056', 'E-RUN-064']);
/** The same command comes to the same end: nobody can answer, the tokens are spent, there is no task, the manifest is wrong, the host too weak. */
const lasting = /^E-(?:RUN-(?:024|053|054|081)|MAN-\d+|CAP-\d+)$/;

/** Statuses of a provider that go away by themselves. */
const busy: ReadonlySet<number> = new Set([408, 425, 429]);

/** Whether the same command may succeed later, with nothing changed; null where that cannot be told. */
function isRetryable(code: string, message: string): boolean | null {
  if (passing.has(code)) return true;
  if (lasting.test(code)) return false;
  if (code !== 'E-RUN-059') return null;
  const [, status] = /^the task failed: provider answered (\d{3})\b/.exec(message) ?? [];
  if (status !== undefined) return Number(status) >= 500 || busy.has(Number(status));
  return /^the task failed: (?:cannot reach |the connection broke)/.test(message) ? true : null;
}
