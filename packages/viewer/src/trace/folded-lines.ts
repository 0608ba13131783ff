/** Leaves of a change the lines that somebody looks at. */

import type { DiffLine } from '@svc/protocol/viewed-rows.ts';

/** Unchanged lines further than `around` from a change become one gap, shown as the number of its lines. */
export function folded(lines: readonly DiffLine[], around = 3): readonly (DiffLine | number)[] {
  const near = new Uint8Array(lines.length);
  for (const [index, [sign]] of lines.entries())
    if (sign !== ' ') near.fill(1, Math.max(0, index - around), index + around + 1);
  const shown: (DiffLine | number)[] = [];
  for (const [index, line] of lines.entries()) {
    const last = shown.at(-1);
    if (near[index] === 1) shown.push(line);
    else if (typeof last === 'number') shown[shown.length - 1] = last + 1;
    else shown.push(1);
  }
  return shown;
}
