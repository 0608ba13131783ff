/** Guesses which name was meant by one that nobody knows. */

/** The hint that names what a misspelt name most likely meant; undefined where nothing is near. */
export function didYouMean(name: string, candidates: readonly string[]): string | undefined {
  const meant = closestName(name, candidates);
  return meant === undefined ? undefined : `did you mean ${meant}?`;
}

/** The candidate a misspelt name most likely meant: at most two slips for a long name, one for a short one. */
export function closestName(name: string, candidates: readonly string[]): string | undefined {
  if (name.length > maxName) return undefined;
  const allowed = name.length <= 4 ? 1 : 2;
  let best: string | undefined;
  let bestDistance = allowed + 1;
  for (const candidate of candidates) {
    if (Math.abs(candidate.length - name.length) > allowed) continue;
    const distance = slips(name.toLowerCase(), candidate.toLowerCase());
    if (distance >= bestDistance) continue;
    best = candidate;
    bestDistance = distance;
  }
  return best;
}

const maxName = 64;

/** Letters inserted, left out, changed, or swapped with their neighbour. */
function slips(from: string, to: string): number {
  let before: number[] = [];
  let previous = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (let row = 1; row <= from.length; row += 1) {
    const current = [row];
    for (let column = 1; column <= to.length; column += 1) {
      const same = from[row - 1] === to[column - 1];
      let cost = Math.min(
        (previous[column] ?? 0) + 1,
        (current[column - 1] ?? 0) + 1,
        (previous[column - 1] ?? 0) + (same ? 0 : 1),
      );
      const swapped = column > 1 && from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1];
      if (row > 1 && swapped) cost = Math.min(cost, (before[column - 2] ?? 0) + 1);
      current.push(cost);
    }
    before = previous;
    previous = current;
  }
  return previous[to.length] ?? 0;
}
