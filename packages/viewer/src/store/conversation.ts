/** Puts the rows of one task together as it was talked: turns with their calls, and what happened between them. */

import * as kinds from '@svc/protocol/row-kinds.ts';
import { isCall, isPlanStep } from '@svc/protocol/row-kinds.ts';
import type { Columns } from './columns.ts';

export type Talk =
  /** A turn of the model, and what it called; after a question, calls alone. */
  | { readonly kind: 'turn'; readonly row: number; readonly calls: readonly number[] }
  | { readonly kind: 'question' | 'child' | 'rule' | 'end'; readonly row: number };

/** What is a rule across the conversation. */
const rules: ReadonlySet<number> = new Set([
  kinds.compaction,
  kinds.reopened,
  kinds.hookError,
  kinds.canceled,
  kinds.ceiling,
]);

/** In the order in which the trace has them, so a turn is followed by what it led to. */
export function conversationOf(task: number, firstRow: number, count: number, columns: Columns): readonly Talk[] {
  const talks: Talk[] = [];
  let turn: { readonly kind: 'turn'; readonly row: number; readonly calls: number[] } | null = null;
  let attempts = 0;
  for (let row = firstRow; row < count; row += 1) {
    if (columns.taskOf(row) !== task) continue;
    const kind = columns.kindOf(row);
    if (kind === kinds.model) {
      turn = { kind: 'turn', row, calls: [] };
      talks.push(turn);
    } else if (isCall(kind) || isPlanStep(kind)) {
      if (turn === null) {
        turn = { kind: 'turn', row, calls: [] };
        talks.push(turn);
      }
      turn.calls.push(row);
    } else if (kind === kinds.question) {
      talks.push({ kind: 'question', row });
      // What is called after the answer stands behind it.
      turn = null;
    } else if (kind === kinds.child) {
      // Its end is shown with its beginning.
      if (columns.durationOf(row) === 0) talks.push({ kind: 'child', row });
    } else if (kind === kinds.taskStart) {
      attempts += 1;
      if (attempts > 1) talks.push({ kind: 'rule', row });
      turn = null;
    } else if (rules.has(kind)) talks.push({ kind: 'rule', row });
    else if (kind === kinds.taskEnd) talks.push({ kind: 'end', row });
  }
  return talks;
}
