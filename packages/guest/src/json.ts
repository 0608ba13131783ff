/** Reads JSON that someone else wrote: what is absent or of another type reads as nothing. */

export type JsonObject = Readonly<Record<string, unknown>>;

/** The engine of guests parses by recursion, and its stack is the component's: to overflow it ends the component. */
const maxLevels = 500;

/** The parsed value, or `undefined` when `text` is not JSON, or nests deeper than 500 levels. */
export function parseJson(text: string): unknown {
  if (nestsTooDeep(text)) return undefined;
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** Counts brackets outside strings. */
function nestsTooDeep(text: string): boolean {
  if (text.length <= maxLevels) return false;
  let depth = 0;
  let inString = false;
  for (let index = 0; index < text.length; index += 1) {
    const character = text[index];
    if (character === '"') inString = !inString;
    else if (inString) index += character === '\\' ? 1 : 0;
    else if (character === '[' || character === '{') {
      depth += 1;
      if (depth > maxLevels) return true;
    } else if (character === ']' || character === '}') depth -= 1;
  }
  return false;
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The object under `key`, null when there is none. */
export function objectIn(parent: JsonObject, key: string): JsonObject | null {
  const value = parent[key];
  return isObject(value) ? value : null;
}

/** The list under `key`, empty when there is none. */
export function listIn(parent: JsonObject, key: string): readonly unknown[] {
  const value = parent[key];
  return Array.isArray(value) ? value : [];
}

/** The text under `key`, `''` when there is none. */
export function textIn(parent: JsonObject, key: string): string {
  const value = parent[key];
  return typeof value === 'string' ? value : '';
}

/** The whole number of at least 0 under `key`, null when there is none. */
export function countIn(parent: JsonObject, key: string): number | null {
  const value = parent[key];
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : null;
}
