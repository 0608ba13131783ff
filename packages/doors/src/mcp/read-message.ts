/** Reads one message of the Model Context Protocol from a body, and refuses what no revision of it allows. */

import { asJsonObject, type JsonObject } from '@svc/protocol/json-object.ts';
import { maxBodyValues } from '@svc/protocol/json-rpc.ts';
import { deepest, holdsWholeText, nestsTooDeep } from '../core/bad-input.ts';
import { readJson } from '../core/read-json.ts';

const maxId = 256;
const tooDeep = `the message must not nest deeper than ${deepest}`;

type Id = string | number | null;

/**
 * A request, a notification or an answer; `fault` says why a body is neither. `id` is that of what looks like a request, null where it has no valid
 * one. An answer to a question of ours is not answered under its id, which could be one of the client's own.
 */
export type ReadMessage =
  | { readonly kind: 'message'; readonly message: JsonObject; readonly id: Id }
  | { readonly kind: 'fault'; readonly code: number; readonly why: string; readonly id: Id };

/** A body of megabytes is read in turns of the event loop of its own, so that nothing waits for it. */
export async function readMessage(body: Uint8Array): Promise<ReadMessage> {
  const read = await readJson(body);
  if (read.kind === 'too-many') return fault(-32_600, `the body holds more than ${maxBodyValues} values`);
  if (read.kind === 'too-deep') return fault(-32_600, tooDeep);
  if (read.kind !== 'json') return fault(-32_700, 'Parse error');
  if (Array.isArray(read.value)) return fault(-32_600, 'batches are not served');
  const message = asJsonObject(read.value);
  if (message === null) return fault(-32_600, 'not an object');
  const { id } = message;
  if (typeof id === 'string' && id.length > maxId) {
    return fault(-32_600, `id must have at most ${maxId} characters`);
  }
  if (typeof id === 'number' && !Number.isSafeInteger(id)) {
    return fault(-32_600, 'id must be a string or a whole number that a double holds exactly');
  }
  const isOfRequest = 'method' in message && (typeof id === 'string' || typeof id === 'number');
  const asked = isOfRequest ? id : null;
  if (nestsTooDeep(message)) return fault(-32_600, tooDeep, asked);
  if (!holdsWholeText(message)) return fault(-32_602, 'texts must hold whole characters', asked);
  return { kind: 'message', message: 'method' in message ? withoutNullParameters(message) : message, id: asked };
}

/** Clients write null for parameters that they do not have. */
function withoutNullParameters({ params, ...message }: JsonObject): JsonObject {
  const given = asJsonObject(params);
  if (given === null) return params === null || params === undefined ? message : { ...message, params };
  const meta = asJsonObject(given['_meta']);
  const kept = meta === null ? given : { ...given, _meta: withoutNulls(meta) };
  return { ...message, params: withoutNulls(kept) };
}

function withoutNulls(object: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(object).filter(([, value]) => value !== null));
}

function fault(code: number, why: string, id: Id = null): ReadMessage {
  return { kind: 'fault', code, why: code === -32_600 ? `Invalid Request: ${why}` : why, id };
}
