/** Says where in the journal the text of a row is: the trace names a task, an attempt and a turn, the journal a place. */

import { countIn, parseLine, textIn } from '../trace/checked.ts';
import * as kinds from '../trace/kind-numbers.ts';
import { isCall, isPlanStep } from '../trace/kinds.ts';
import type { LineStore } from '../trace/line-store.ts';
import type { RowBlocks } from './row-blocks.ts';

/** The place of a row in the journal; null for a row of no step. */
export function placeOf(row: number, rows: RowBlocks, lines: LineStore): string | null {
  const [kind = -1, task = -1] = [rows.kinds[row], rows.tasks[row]];
  const taskId = rows.taskIds[task];
  if (taskId === undefined || !(kind === kinds.model || isCall(kind) || isPlanStep(kind))) return null;
  const { turn, step_id: step } = parseLine(lines.line(row)) ?? {};
  const [call, asked] = kind === kinds.model ? [0, row] : callNumber(row, task, rows);
  // A step of a plan says no turn.
  const ofTurn = turn ?? parseLine(lines.line(asked))?.['turn'];
  const place = `${taskId}/${attemptAt(row, task, rows, lines)}/m${countIn(ofTurn, 1e9)}`;
  if (call === 0) return place;
  return `${place}/t${call}${isPlanStep(kind) ? `/s${textIn(step)}` : ''}`;
}

/**
 * Calls run one after the other: the n-th line after that of the model is the n-th call of its answer. The line of a plan comes after those of
 * its steps. With the row of the model; -1 for none.
 */
function callNumber(row: number, task: number, rows: RowBlocks): readonly [call: number, model: number] {
  let [call, at] = [1, row - 1];
  for (; at >= 0; at -= 1) {
    if (rows.tasks[at] !== task) continue;
    const kind = rows.kinds[at] ?? -1;
    if (kind === kinds.model || kind === kinds.taskStart) break;
    if (isCall(kind)) call += 1;
  }
  return [call, at];
}

function attemptAt(row: number, task: number, rows: RowBlocks, lines: LineStore): number {
  for (let at = row - 1; at >= 0; at -= 1) {
    if (rows.kinds[at] !== kinds.taskStart || rows.tasks[at] !== task) continue;
    return countIn(parseLine(lines.line(at))?.['attempt'], 1e6) || 1;
  }
  return 1;
}
