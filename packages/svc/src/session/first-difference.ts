/** Finds where two JSON values differ first. */

/** Where two values differ: a JSON pointer, and what is there. */
export interface Difference {
  readonly path: string;
  readonly recorded: unknown;
  readonly now: unknown;
}

/** The first difference in the order of the keys of `recorded`; null where the two are the same as JSON. Undefined keys count as absent. */
export function firstDifference(recorded: unknown, now: unknown, path = ''): Difference | null {
  if (Object.is(recorded, now)) return null;
  if (!isContainer(recorded) || !isContainer(now) || Array.isArray(recorded) !== Array.isArray(now)) {
    return sameScalar(recorded, now) ? null : { path, recorded, now };
  }
  for (const key of new Set([...Object.keys(recorded), ...Object.keys(now)])) {
    const difference = firstDifference(own(recorded, key), own(now, key), `${path}/${pointerPart(key)}`);
    if (difference !== null) return difference;
  }
  return null;
}

type Container = Readonly<Record<string, unknown>>;

function isContainer(value: unknown): value is Container {
  return typeof value === 'object' && value !== null;
}

function own(value: Container, key: string): unknown {
  return Object.hasOwn(value, key) ? value[key] : undefined;
}

/** A whole number too large for JSON is written as text. */
function sameScalar(recorded: unknown, now: unknown): boolean {
  return typeof now === 'bigint' && String(now) === String(recorded);
}

function pointerPart(key: string): string {
  return key.replaceAll('~', '~0').replaceAll('/', '~1');
}
