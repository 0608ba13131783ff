/** Recognises JSON that no door takes from its clients: nested too deep, or with half a character in a text. */

/** Lists and objects within each other; no request of any protocol that is spoken here nests so deep. */
export const deepest = 64;

/** Whether JSON that was read nests deeper than 64 lists and objects. */
export function nestsTooDeep(value: unknown): boolean {
  let level: unknown[] = [value];
  for (let depth = 0; level.length > 0; depth += 1) {
    const inner: unknown[] = [];
    for (const each of level) {
      if (typeof each !== 'object' || each === null) continue;
      if (depth === deepest) return true;
      for (const held of Object.values(each) as unknown[]) if (typeof held === 'object') inner.push(held);
    }
    level = inner;
  }
  return false;
}

/** Whether every text of JSON that was read, and every key, consists of whole characters: no file and no provider takes half of one. */
export function holdsWholeText(value: unknown): boolean {
  const pending: unknown[] = [value];
  while (pending.length > 0) {
    const next = pending.pop();
    if (typeof next === 'string' && !next.isWellFormed()) return false;
    if (typeof next !== 'object' || next === null) continue;
    if (!Array.isArray(next) && Object.keys(next).some((key) => !key.isWellFormed())) return false;
    for (const each of Object.values(next) as unknown[]) pending.push(each);
  }
  return true;
}
