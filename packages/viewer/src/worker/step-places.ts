/** Says where in the journal the text of a row is: the trace names a task, an attempt and a turn, the journal a place. */

import { countIn, parseLine } from '../trace/checked.ts';
import * as kinds from '../trace/kind-numbers.ts';
import { isCall } from '../trace/kinds.ts';
import type { LineStore } from '../trace/line-store.ts';
import type { KeptRows } from './row-blocks.ts';

/** The place of a row in the journal; null for a row of no step. */
export function placeOf(row: number, rows: KeptRows, lines: LineStore, taskIds: readonly string[]): string | null {
  const kind = rows.kindOf(row);
  const task = rows.taskOf(row);
  const taskId = taskIds[task];
  if (taskId === undefined || !(kind === kinds.model || isCall(kind))) return null;
  const { turn, hook_name: hook } = parseLine(lines.line(row)) ?? {};
  if (hook !== undefined) return null;
  const place = `${taskId}/${attemptAt(row, task, rows, lines)}/m${countIn(turn, 1e9)}`;
  return kind === kinds.model ? place : `${place}/t${callNumber(row, task, rows)}`;
}

/** Calls run one after the other: the n-th line after that of the model is the n-th call of its answer. */
function callNumber(row: number, task: number, rows: KeptRows): number {
  let calls = 1;
  for (let at = row - 1; at >= 0; at -= 1) {
    if (rows.taskOf(at) !== task) continue;
    const kind = rows.kindOf(at);
    if (kind === kinds.model || kind === kinds.taskStart) break;
    if (isCall(kind)) calls += 1;
  }
  return calls;
}

function attemptAt(row: number, task: number, rows: KeptRows, lines: LineStore): number {
  for (let at = row - 1; at >= 0; at -= 1) {
    if (rows.kindOf(at) !== kinds.taskStart || rows.taskOf(at) !== task) continue;
    return countIn(parseLine(lines.line(at))?.['attempt'], 1e6) || 1;
  }
  return 1;
}
