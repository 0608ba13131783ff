/** Finds in what a capsule says of a task why it ended as it did. */

import type { TaskFacts } from '@svc/protocol/task-object.ts';

/**
 * Why a task ended as it did. A final `failed` has the reason where an answer would be (D1 "status"), behind `error: `, and its
 * message says only that it ended.
 */
export function endedReason({
  state,
  message,
  response,
}: Pick<TaskFacts, 'state' | 'response'> & { readonly message: string }): string {
  const [, reason] = state === 'failed' ? (/^error: (.+)$/s.exec(response ?? '') ?? []) : [];
  return reason ?? message;
}
