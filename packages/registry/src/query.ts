import { badInput } from './refusals.ts';

/**
 * The parameters of a query, percent-decoded once; a plus sign is one, because versions have them and nothing has spaces. What is not
 * named in `known` is refused, since a misspelt `platform` would publish or fetch another file than was meant.
 */
export function parseQuery(query: string, known: readonly string[]): ReadonlyMap<string, readonly string[]> {
  const values = new Map<string, string[]>();
  for (const part of query.split('&').filter((piece) => piece !== '')) {
    const equals = part.indexOf('=');
    const name = decoded(equals === -1 ? part : part.slice(0, equals));
    const value = equals === -1 ? '' : decoded(part.slice(equals + 1));
    if (name === null || value === null) throw badInput('invalid query', 'The query has a malformed percent escape.');
    if (!known.includes(name)) throw badInput('unknown parameter', `The parameters here are ${known.join(', ')}.`);
    values.set(name, [...(values.get(name) ?? []), value]);
  }
  return values;
}

/** Null for a bad escape, or one of bytes that are not UTF-8. */
export function decoded(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch (error) {
    if (error instanceof URIError) return null;
    throw error;
  }
}
