export type JsonObject = Readonly<Record<string, unknown>>;

/** A list is none. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Null for what is none. */
export function asJsonObject(value: unknown): JsonObject | null {
  return isJsonObject(value) ? value : null;
}

/** The object that a text of bounded length is; null for anything else. */
export function parseJsonObject(text: string): JsonObject | null {
  try {
    return asJsonObject(JSON.parse(text));
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
}
