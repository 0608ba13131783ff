/** Reads values of untrusted JSON by the form they should have. */

export type JsonObject = Readonly<Record<string, unknown>>;

/** Whether a value is an object and not a list. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The value as an object; null when it is something else. */
export function asJsonObject(value: unknown): JsonObject | null {
  return isJsonObject(value) ? value : null;
}

/** The value that a text of bounded length is as JSON; undefined for a text that is no JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** The object that a text of bounded length is as JSON; null for anything else. */
export function parseJsonObject(text: string): JsonObject | null {
  return asJsonObject(parseJson(text));
}

/** JSON has numbers, such as 1e999, that are infinite once they are read. */
export function isFiniteNumber(value: unknown): value is number {
  return Number.isFinite(value);
}

/** A whole number that keeps every digit; null for anything else. */
export function wholeOrNull(value: unknown): number | null {
  return typeof value === 'number' && Number.isSafeInteger(value) ? value : null;
}

/** Whether a value is a whole number from 0 on that keeps every digit. */
export function isCount(value: unknown): value is number {
  return (wholeOrNull(value) ?? -1) >= 0;
}

/** `value` where it is a string. */
export function stringOr<Other>(value: unknown, other: Other): string | Other {
  return typeof value === 'string' ? value : other;
}

/** More items than anything well meant has. */
export const maxList = 16_384;

/** A list of at most 16,384 strings; null for anything else. */
export function asStrings(value: unknown): readonly string[] | null {
  if (!Array.isArray(value) || value.length > maxList) return null;
  const items = value as unknown[];
  return items.every((item) => typeof item === 'string') ? items : null;
}

/** Whether a value is a list of two strings. */
export function isPair(value: unknown): value is readonly [string, string] {
  return Array.isArray(value) && value.length === 2 && value.every((each) => typeof each === 'string');
}

/** Whether all lists in a value of plain data hold at most 16,384 items together. */
export function holdsFewItems(value: unknown): boolean {
  const pending: unknown[] = [value];
  let items = 0;
  while (pending.length > 0) {
    const next = pending.pop();
    if (typeof next !== 'object' || next === null || ArrayBuffer.isView(next)) continue;
    if (Array.isArray(next)) items += next.length;
    if (items > maxList) return false;
    for (const each of Object.values(next) as unknown[]) pending.push(each);
  }
  return true;
}

/** `value` where it is one of these; null for anything else. */
export function oneOf<Known extends string>(value: unknown, known: readonly Known[]): Known | null {
  return known.find((each) => each === value) ?? null;
}
