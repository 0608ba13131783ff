import { decodeQuery } from '@svc/protocol/registry-messages.ts';
import { badInput } from './refusals.ts';

/** The parameters of a query. Throws `400` for one that cannot be decoded or holds any other than `known`. */
export function parseQuery(query: string, known: readonly string[]): ReadonlyMap<string, readonly string[]> {
  const decoded = decodeQuery(query, known);
  if (decoded.kind === 'query') return decoded.values;
  if (decoded.kind === 'malformed-escape') throw badInput('invalid query', 'The query has a malformed percent escape.');
  throw badInput('unknown parameter', `The parameters here are ${known.join(', ')}.`);
}
