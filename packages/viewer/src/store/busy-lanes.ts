/** Works out how busy each lane was in each column of pixels: with many steps, shares of time show more than bars that cover each other. */

import { laneOfKind, lanes, wentWrong } from '../trace/kinds.ts';
import type { Columns } from './columns.ts';

export interface Bar {
  readonly row: number;
  readonly lane: number;
  /** The left end of the bar, in pixels from the left edge. */
  readonly from: number;
  readonly to: number;
}

export interface BusyLanes {
  /** A share of time for each column of each lane, lane by lane. */
  readonly busy: Float32Array;
  /** How many steps of a column failed. */
  readonly failed: Uint16Array;
  /** Steps that are wide enough for a bar, in their order. */
  readonly bars: readonly Bar[];
}

interface Window {
  readonly from: number;
  readonly to: number;
  readonly pixels: number;
  /** Only the steps of this task are drawn; -1 for all tasks. */
  readonly task: number;
  readonly hidden: ReadonlySet<number>;
  /** Steps that take more pixels are bars. With Infinity, no step is a bar. */
  readonly barPixels: number;
}

const maxBars = 2000;
/** The smallest share that is drawn, so that a step which took no time can be seen. */
const minShare = 0.05;

/** Works out the lanes of a window. Takes time in proportion to the rows, whatever they hold. */
export function busyLanes(columns: Columns, count: number, window: Window): BusyLanes {
  const { from, to, pixels, task, hidden, barPixels } = window;
  const scale = pixels / Math.max(1, to - from);
  const width = pixels + 1;
  // Adds one where a step begins, and takes one away where it ends: the sum up to a column is how many steps it has.
  const steps = new Float32Array(lanes.length * width);
  const partial = new Float32Array(lanes.length * width);
  const failed = new Uint16Array(pixels);
  const bars: Bar[] = [];
  const { kind, flags, start, duration, task: tasks } = columns;
  for (let row = 0; row < count; row += 1) {
    const begun = start.data[row] ?? 0;
    const ended = begun + (duration.data[row] ?? 0);
    if (begun > to || ended < from) continue;
    const left = Math.max(0, (begun - from) * scale);
    const right = Math.min(pixels, (ended - from) * scale);
    const isWrong = ((flags.data[row] ?? 0) & wentWrong) !== 0;
    if (isWrong) {
      const column = Math.min(pixels - 1, Math.max(0, Math.floor(right - 0.001)));
      failed[column] = (failed[column] ?? 0) + 1;
    }
    const lane = laneOfKind[kind.data[row] ?? 255] ?? -1;
    if (lane === -1 || hidden.has(lane) || (task !== -1 && tasks.data[row] !== task)) continue;
    if (right - left > barPixels && bars.length < maxBars) {
      bars.push({ row, lane, from: left, to: right });
      continue;
    }
    const [first, last] = [Math.min(pixels - 1, Math.floor(left)), Math.min(pixels - 1, Math.floor(right))];
    const base = lane * width;
    if (first === last) partial[base + first] = (partial[base + first] ?? 0) + Math.max(right - left, minShare);
    else {
      partial[base + first] = (partial[base + first] ?? 0) + first + 1 - left;
      partial[base + last] = (partial[base + last] ?? 0) + right - last;
      steps[base + first + 1] = (steps[base + first + 1] ?? 0) + 1;
      steps[base + last] = (steps[base + last] ?? 0) - 1;
    }
  }
  const busy = new Float32Array(lanes.length * pixels);
  for (let lane = 0; lane < lanes.length; lane += 1) {
    let running = 0;
    for (let column = 0; column < pixels; column += 1) {
      running += steps[lane * width + column] ?? 0;
      busy[lane * pixels + column] = Math.max(0, running + (partial[lane * width + column] ?? 0));
    }
  }
  return { busy, failed, bars };
}

/** Returns the step that a person probably meant at a place of a lane; -1 without one. */
export function rowAt(
  columns: Columns,
  count: number,
  where: Window & { readonly lane: number; readonly pixel: number },
): number {
  const { from, to, pixels, lane, pixel, task } = where;
  const scale = pixels / Math.max(1, to - from);
  let [found, nearest] = [-1, 5];
  for (let row = 0; row < count; row += 1) {
    if (laneOfKind[columns.kindOf(row)] !== lane || (task !== -1 && columns.taskOf(row) !== task)) continue;
    const left = (columns.startOf(row) - from) * scale;
    const right = left + columns.durationOf(row) * scale;
    const distance = pixel < left ? left - pixel : Math.max(0, pixel - right);
    if (
      distance < nearest ||
      (distance === 0 && nearest === 0 && columns.durationOf(row) < columns.durationOf(found))
    ) {
      [found, nearest] = [row, distance];
    }
  }
  return found;
}
