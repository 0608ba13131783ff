/** Says which lines a change of a text takes away and brings. */

import type { DiffLine } from '@svc/protocol/viewed-rows.ts';

/** Comparisons of two lines that are made for one change, where nobody says more: few enough that a page has thousands of changes at once. */
export const maxCells = 250_000;

/**
 * All lines of both texts in their order, the common ones once. Where what lies between the common beginning and the common end would take more than
 * `most` comparisons, its lines are shown as taken away and brought as a whole.
 */
export function lineDiff(before: string, after: string, most: number = maxCells): readonly DiffLine[] {
  const [old, now] = [linesOf(before), linesOf(after)];
  let start = 0;
  while (start < old.length && start < now.length && old[start] === now[start]) start += 1;
  let end = 0;
  while (end < old.length - start && end < now.length - start && old.at(-1 - end) === now.at(-1 - end)) end += 1;
  const same = (lines: readonly string[]): DiffLine[] => lines.map((line) => [' ', line]);
  return [
    ...same(old.slice(0, start)),
    ...changed(old.slice(start, old.length - end), now.slice(start, now.length - end), most),
    ...same(old.slice(old.length - end)),
  ];
}

/** How many lines a change brings and takes away. */
export function changedLines(lines: readonly DiffLine[]): { readonly added: number; readonly removed: number } {
  let [added, removed] = [0, 0];
  for (const [sign] of lines) {
    if (sign === '+') added += 1;
    if (sign === '-') removed += 1;
  }
  return { added, removed };
}

/** By the longest common part, the lines that go before those that come. */
function changed(old: readonly string[], now: readonly string[], most: number): DiffLine[] {
  const width = now.length + 1;
  if ((old.length + 1) * width > most)
    return [...old.map((line): DiffLine => ['-', line]), ...now.map((line): DiffLine => ['+', line])];
  const common = new Uint16Array((old.length + 1) * width);
  const at = (i: number, j: number): number => common[i * width + j] ?? 0;
  for (let i = old.length - 1; i >= 0; i -= 1) {
    for (let j = now.length - 1; j >= 0; j -= 1) {
      common[i * width + j] = old[i] === now[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
    }
  }
  const lines: DiffLine[] = [];
  let [i, j] = [0, 0];
  while (i < old.length || j < now.length) {
    const [gone, come] = [old[i], now[j]];
    if (gone !== undefined && gone === come) {
      lines.push([' ', gone]);
      i += 1;
      j += 1;
    } else if (gone === undefined || (come !== undefined && at(i, j + 1) > at(i + 1, j))) {
      lines.push(['+', come ?? '']);
      j += 1;
    } else {
      lines.push(['-', gone]);
      i += 1;
    }
  }
  return lines;
}

function linesOf(text: string): readonly string[] {
  return text === '' ? [] : text.replace(/\n$/, '').split('\n');
}
