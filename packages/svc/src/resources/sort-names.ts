import { ownTurn } from '@svc/kit/own-turn.ts';

/** Sorted at once; also merged between two turns of the event loop. */
const sliceLength = 8192;

/** The names in ascending order of their UTF-16 code units. However many there are, other work gets its turn in between. */
export async function sortNames(names: readonly string[]): Promise<string[]> {
  let runs: string[][] = [];
  for (let from = 0; from < names.length; from += sliceLength) {
    runs.push(names.slice(from, from + sliceLength).sort());
    if (names.length > sliceLength) await ownTurn();
  }
  while (runs.length > 1) {
    const merged: string[][] = [];
    for (let index = 0; index < runs.length; index += 2) {
      merged.push(await merge(runs[index] ?? [], runs[index + 1] ?? []));
    }
    runs = merged;
  }
  return runs[0] ?? [];
}

async function merge(left: readonly string[], right: readonly string[]): Promise<string[]> {
  const merged: string[] = [];
  let fromLeft = 0;
  let fromRight = 0;
  while (fromLeft < left.length || fromRight < right.length) {
    const one = left[fromLeft];
    const other = right[fromRight];
    if (other === undefined || (one !== undefined && one <= other)) {
      merged.push(one ?? '');
      fromLeft += 1;
    } else {
      merged.push(other);
      fromRight += 1;
    }
    if (merged.length % sliceLength === 0) await ownTurn();
  }
  return merged;
}
