/** Readers of JSON that someone else wrote: what is absent or of another type reads as nothing. */

export type JsonObject = Readonly<Record<string, unknown>>;

/** The parsed value, or `undefined` when `text` is not JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function objectIn(parent: JsonObject, key: string): JsonObject | null {
  const value = parent[key];
  return isObject(value) ? value : null;
}

export function listIn(parent: JsonObject, key: string): readonly unknown[] {
  const value = parent[key];
  return Array.isArray(value) ? value : [];
}

/** The text under `key`, `''` when there is none. */
export function textIn(parent: JsonObject, key: string): string {
  const value = parent[key];
  return typeof value === 'string' ? value : '';
}

/** A whole number of at least 0 under `key`. */
export function countIn(parent: JsonObject, key: string): number | null {
  const value = parent[key];
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : null;
}
