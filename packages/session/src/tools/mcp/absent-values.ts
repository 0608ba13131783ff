/** Reads null in messages of Model Context Protocol servers as an absent key, and an empty list where PHP means an object. */

import { checkerWords } from '@svc/kit/diagnostics/checker-words.ts';
import { isJsonObject, type JsonObject } from '@svc/protocol/json-object.ts';

/** The object without its keys that hold null. */
export function withoutNulls(object: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(object).filter(([, value]) => value !== null));
}

/** Keywords of a JSON Schema whose value is data; null means something there. */
export const dataKeywords: ReadonlySet<string> = new Set(['const', 'default', 'enum', 'example', 'examples']);
/** Keywords whose value is an object with names of the author's choice. */
export const namingKeywords: ReadonlySet<string> = new Set([
  'properties',
  'patternProperties',
  '$defs',
  'definitions',
  'dependentSchemas',
  'dependencies',
]);

/** A JSON Schema without its keywords that hold null or an empty list, and without properties whose schema is null. */
export function schemaWithoutNulls(schema: JsonObject): JsonObject {
  const given = Object.entries(schema).filter(
    ([keyword, value]) => !(value === null || isEmptyList(value)) || (dataKeywords.has(keyword) && keyword !== 'enum'),
  );
  return Object.fromEntries(given.map(([keyword, value]) => [keyword, keywordWithoutNulls(keyword, value)]));
}

function keywordWithoutNulls(keyword: string, value: unknown): unknown {
  if (dataKeywords.has(keyword)) return value;
  if (!namingKeywords.has(keyword) || !isJsonObject(value)) return valueWithoutNulls(value);
  const named = Object.entries(withoutNulls(value));
  return Object.fromEntries(named.map(([name, each]) => [name, isEmptyList(each) ? {} : valueWithoutNulls(each)]));
}

/** What PHP writes for an empty object. Only keywords of data say anything with it. */
export function isEmptyList(value: unknown): boolean {
  return Array.isArray(value) && value.length === 0;
}

function valueWithoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(valueWithoutNulls);
  return isJsonObject(value) ? schemaWithoutNulls(value) : value;
}

/**
 * A clause for an answer that does not fit. What the library's checker says of it, `Invalid result for initialize: [{…}]`, is said in words: the
 * method, and for each part that does not fit its place and what was expected there.
 */
export function unusableAnswer(said: string): string {
  const [, method, told = ''] = /^Invalid result for (\S+): ([^]*)$/.exec(said) ?? [];
  if (method === undefined) return `answered what cannot be used: ${said}`;
  return `answered ${method} with what cannot be used: ${checkerWords(told) ?? told.replaceAll('Invalid input: ', '')}`;
}
