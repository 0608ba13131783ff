/** Counts what a person asks first: where the time went, what was slow, what failed. */

import * as kinds from '@svc/protocol/row-kinds.ts';
import { isPlanStep } from '@svc/protocol/row-kinds.ts';
import { laneOfKind, lanes, wentWrong } from '../trace/kinds.ts';
import type { Columns } from './columns.ts';
import { tellsAgain } from './told-again.ts';

export interface Summary {
  /** Milliseconds of each lane. What a call spent in a plan's steps or in a question counts where those do. */
  readonly byLane: readonly number[];
  /** Rows, the slowest first, with milliseconds as they count in `byLane`. */
  readonly slowest: readonly { readonly row: number; readonly took: number }[];
  /** Names, how often each failed, and the first row; the most frequent first. */
  readonly failures: readonly (readonly [name: string, count: number, row: number])[];
}

const most = 5;

export function summarize(rows: Uint32Array, columns: Columns): Summary {
  const { kind, flags, duration } = columns;
  const byLane = lanes.map(() => 0);
  const slowest: Summary['slowest'][number][] = [];
  const failures = new Map<string, { count: number; readonly row: number }>();
  const inner = innerTime(columns);
  const isAgain = tellsAgain(columns);
  for (const row of rows) {
    const took = (duration.data[row] ?? 0) - inner(row);
    const lane = laneOfKind[kind.data[row] ?? 255] ?? -1;
    if (!isAgain(row) && ((flags.data[row] ?? 0) & wentWrong) !== 0) {
      const name = columns.nameOf(row);
      const known = failures.get(name);
      if (known === undefined) failures.set(name, { count: 1, row });
      else known.count += 1;
    }
    if (lane === -1) continue;
    byLane[lane] = (byLane[lane] ?? 0) + took;
    const last = slowest[most - 1];
    if (took === 0 || (last !== undefined && took <= last.took)) continue;
    slowest.push({ row, took });
    slowest.sort((a, b) => b.took - a.took);
    slowest.length = Math.min(most, slowest.length);
  }
  const sorted = [...failures].sort(([, a], [, b]) => b.count - a.count).slice(0, most);
  return {
    byLane,
    slowest,
    failures: sorted.map(([name, { count, row }]) => [name, count, row] as const),
  };
}

/** Time of calls in rows that are shown by themselves: these come before them, since a row is written when it ends. */
function innerTime(columns: Columns): (row: number) => number {
  let [innerMs, innerStart] = [0, 0];
  /** Until when commands were waited for that went on in the background, by task and name. */
  const moved = new Map<string, number[]>();
  return (row) => {
    const [kind, start, took] = [columns.kindOf(row), columns.startOf(row), columns.durationOf(row)];
    if (kind === kinds.background) {
      const key = `${columns.taskOf(row)} ${columns.nameOf(row)}`;
      const known = moved.get(key) ?? [];
      // The call has the time until then.
      if (took > 0) return Math.min(took, (known.find((until) => until >= start) ?? start) - start);
      moved.set(key, known);
      if (known.push(start) > 100) known.shift();
    }
    if (isPlanStep(kind) || kind === kinds.question) {
      innerStart = innerMs === 0 ? start : Math.min(innerStart, start);
      innerMs += took;
    }
    // The session that it asks has a row of its own.
    if (kind === kinds.planChild) return took;
    if (kind !== kinds.tool || start > innerStart) return 0;
    // Steps of a plan run at the same time.
    const within = Math.min(innerMs, took);
    innerMs = 0;
    return within;
  };
}

/** Shares of the sum in whole percent; all are 0 if the sum is 0. */
export function percents(values: readonly number[]): readonly number[] {
  const sum = values.reduce((a, b) => a + b, 0);
  return values.map((value) => (sum === 0 ? 0 : Math.round((value / sum) * 100)));
}
