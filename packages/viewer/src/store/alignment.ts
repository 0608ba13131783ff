/** Sets the steps of two sessions side by side: those at the same place in one row. */

import type { JournalStep } from '@svc/protocol/viewed-session.ts';

export interface AlignedRow {
  readonly a: JournalStep | null;
  readonly b: JournalStep | null;
}

/** All steps of both in their order; a step that the other session does not have stands alone. */
export function align(a: readonly JournalStep[], b: readonly JournalStep[]): readonly AlignedRow[] {
  const keysOfA = new Set(a.map(({ key }) => key));
  const places = new Map(b.map((step, index) => [step.key, index]));
  const rows: AlignedRow[] = [];
  const taken = new Uint8Array(b.length);
  let next = 0;
  const alone = (until: number): void => {
    for (; next < until; next += 1) {
      const step = b[next];
      if (step !== undefined && !keysOfA.has(step.key)) rows.push({ a: null, b: step });
    }
  };
  for (const step of a) {
    const index = places.get(step.key);
    if (index === undefined || taken[index] === 1) {
      rows.push({ a: step, b: null });
      continue;
    }
    // What ran before it in `b` alone.
    if (index >= next) {
      alone(index);
      next = index + 1;
    }
    taken[index] = 1;
    rows.push({ a: step, b: b[index] ?? null });
  }
  alone(b.length);
  return rows;
}

/** The row of the point where two sessions part; -1 where no step is about it. */
export function partingRow(
  rows: readonly AlignedRow[],
  steps: { readonly a: number | null; readonly b: number | null },
): number {
  return rows.findIndex(
    (row) =>
      (steps.a !== null && row.a?.number === steps.a) ||
      (steps.a === null && steps.b !== null && row.b?.number === steps.b),
  );
}
