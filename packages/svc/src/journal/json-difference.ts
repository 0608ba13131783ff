/** Finds the first place where two JSON texts differ. */

/** Where two values part: a JSON pointer, and both as text there; null for one that has nothing at that place. */
export interface Difference {
  readonly path: string;
  /** Of the first byte that differs, in the UTF-8 of two strings; null for anything else. */
  readonly byte: number | null;
  readonly a: string | null;
  readonly b: string | null;
}

/** Null when the texts mean the same. A text that is not JSON is compared as it is. */
export function firstDifference(a: string, b: string): Difference | null {
  return differenceOf(parsed(a), parsed(b), '');
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function differenceOf(a: unknown, b: unknown, path: string): Difference | null {
  if (a === b) return null;
  if (typeof a === 'string' && typeof b === 'string') return { path, byte: byteOf(a, b), a, b };
  const [ofA, ofB] = [entriesOf(a), entriesOf(b)];
  if (ofA === null || ofB === null || Array.isArray(a) !== Array.isArray(b)) {
    return { path, byte: null, a: textOf(a), b: textOf(b) };
  }
  for (const key of new Set([...ofA.keys(), ...ofB.keys()])) {
    const below = `${path}/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`;
    const found =
      ofA.has(key) && ofB.has(key)
        ? differenceOf(ofA.get(key), ofB.get(key), below)
        : { path: below, byte: null, a: textOf(ofA.get(key)), b: textOf(ofB.get(key)) };
    if (found !== null) return found;
  }
  return null;
}

function entriesOf(value: unknown): ReadonlyMap<string, unknown> | null {
  return typeof value === 'object' && value !== null ? new Map(Object.entries(value)) : null;
}

function textOf(value: unknown): string | null {
  if (value === undefined) return null;
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function byteOf(a: string, b: string): number {
  const [bytesA, bytesB] = [Buffer.from(a), Buffer.from(b)];
  const most = Math.min(bytesA.length, bytesB.length);
  for (let at = 0; at < most; at += 1) if (bytesA[at] !== bytesB[at]) return at;
  return most;
}
