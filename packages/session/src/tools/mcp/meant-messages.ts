/** Reads messages of Model Context Protocol servers as they are meant, where it is plain what that is. */

import { asJsonObject, isJsonObject, type JsonObject } from '@svc/protocol/json-object.ts';
import { withoutNulls } from './absent-values.ts';

/** Marks the data of an error that replaces an answer that cannot be used. No server can write this value. */
export const unusable = Symbol('an answer that cannot be used');
/** The same for an error that has no number for its code. */
export const codeless = Symbol('an error without a code');

/** The same for an error that says that an answer is lost: its message is a clause after the name of the server. */
export const lost = Symbol('an answer that will not come');

/** "Internal error" of JSON-RPC; it is not shown. */
const unusableCode = -32603;

type Id = string | number;

/** The requests that have no answer yet, each with its method. */
export type OpenRequests = ReadonlyMap<Id, string>;

/**
 * The messages of a line: a batch has several. Null is an absent key in a message itself and on the first level of its result, error or parameters. An answer
 * to an open request gets the id of that, and is an error where it is no answer at all.
 */
export function messagesIn(json: unknown, open: OpenRequests): readonly unknown[] {
  const isBatch = Array.isArray(json) && json.length > 0 && json.every(isJsonObject);
  return (isBatch ? json : [json]).map((each) => (isJsonObject(each) ? messageIn(withoutNulls(each), open) : each));
}

function messageIn(message: JsonObject, open: OpenRequests): JsonObject {
  const { params } = message;
  if ('method' in message) return isJsonObject(params) ? { ...message, params: withoutNulls(params) } : message;
  const id = requestOf(message, open);
  if (id === null) return message;
  const answer = { jsonrpc: '2.0', id };
  if ('error' in message) return { ...answer, error: errorIn(message['error']) };
  if (!('result' in message)) return { ...answer, error: unusableError('it held neither a result nor an error') };
  const result = objectIn(message['result']);
  if (result === null) return { ...answer, error: unusableError('its result is no object') };
  const { _meta, ...told } = withoutNulls(result);
  return { ...answer, result: open.get(id) === 'initialize' ? greetingIn(result) : told };
}

/** The open request that a message answers. Some servers write each id as a text; an error of one that could not read a request has none. */
function requestOf({ id, jsonrpc, error }: JsonObject, open: OpenRequests): Id | null {
  if ((typeof id === 'string' || typeof id === 'number') && open.has(id)) return id;
  if (typeof id === 'string' && /^\d{1,15}$/.test(id) && open.has(Number(id))) return Number(id);
  const [only, ...more] = open.keys();
  const isLost = (id === undefined || id === '') && jsonrpc === '2.0' && error !== undefined;
  return isLost && more.length === 0 ? (only ?? null) : null;
}

/** PHP writes an empty list for an empty object. */
function objectIn(value: unknown): JsonObject | null {
  return Array.isArray(value) && value.length === 0 ? {} : asJsonObject(value);
}

/** Nobody here reads more of a greeting than the version of the protocol and which of its lists the server has. */
function greetingIn({ protocolVersion, capabilities }: JsonObject): JsonObject {
  const declared = asJsonObject(capabilities) ?? {};
  const lists = ['tools', 'resources', 'prompts'].filter((name) => (declared[name] ?? false) !== false);
  return {
    protocolVersion,
    capabilities: Object.fromEntries(lists.map((name) => [name, {}])),
    serverInfo: { name: '', version: '' },
  };
}

function errorIn(error: unknown): object {
  const { code: given, message, data } = asJsonObject(error) ?? { message: error };
  const code = typeof given === 'string' && /^-?\d{1,9}$/.test(given) ? Number(given) : given;
  const { message: inner, error: innermost } = asJsonObject(data) ?? {};
  const words = [message, data, inner, innermost].find((each) => typeof each === 'string' && each.trim() !== '');
  const told = { message: words ?? 'no message' };
  return Number.isSafeInteger(code) ? { code, ...told } : { code: unusableCode, ...told, data: codeless };
}

/** The error in place of an answer that will not come. */
export function lostError(message: string): { readonly code: number; readonly message: string; readonly data: symbol } {
  return { code: unusableCode, message, data: lost };
}

function unusableError(message: string): object {
  return { code: unusableCode, message, data: unusable };
}
