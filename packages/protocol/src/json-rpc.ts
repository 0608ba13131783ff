/** JSON-RPC 2.0, as a capsule and its clients speak it. */

import { asJsonObject, type JsonObject } from './json-object.ts';
import { parsedJson, type JsonText } from './json-text.ts';
import { readLongJson } from './long-json.ts';
import { decodeStrictUtf8 } from './strict-utf8.ts';

export type JsonRpcId = string | number;

export interface JsonRpcRequest {
  readonly kind: 'request';
  readonly id: JsonRpcId;
  /** As sent: compared exactly, case and whitespace included (D1 "HTTP routes of a running capsule"). */
  readonly method: string;
  /** Undefined when absent. What a method takes is for the method to check. */
  readonly params: unknown;
}

/** Something that is not a request. `id` is the request's own where it could be read. */
export interface JsonRpcRefusedRequest {
  readonly kind: 'fault';
  readonly id: JsonRpcId | null;
  readonly fault: JsonRpcFault;
}

/** Every fault a capsule answers with: its code, and its message unless the thrower has a better one (docs/protocol.md "JSON-RPC"). */
const faults = {
  'parse-error': [-32700, 'Parse error'],
  'invalid-request': [-32600, 'Invalid Request'],
  'method-not-found': [-32601, 'Method not found'],
  'invalid-params': [-32602, 'Invalid params'],
  'internal-error': [-32603, 'Internal error'],
  'task-not-found': [-32001, 'Task not found'],
  /** A completion for another session, or of a delegation this session does not know. */
  'completion-refused': [-32004, 'Completion refused'],
  /** An answer to a question that does not wait for one, or not any more. */
  'question-not-open': [-32010, 'Question not open'],
  /** A command of a person that the capsule has no shell for, or no conversation. */
  'command-refused': [-32011, 'Command refused'],
  /** Another answer came first, or the time was over; its data says how it was settled. */
  'approval-settled': [-32050, 'Approval settled already'],
  /** An answer for another call than the one that waits. */
  'approval-differs': [-32051, 'Approval is for another call'],
  /** Its manifest names other ways by which an answer comes; the data has them. */
  'approval-elsewhere': [-32052, 'Approval is answered elsewhere'],
  'approval-not-found': [-32001, 'Approval not found'],
} as const satisfies Record<string, readonly [number, string]>;

export type JsonRpcFaultKind = keyof typeof faults;

/** The code in the error of such a fault. */
export function faultCode(kind: JsonRpcFaultKind): number {
  return faults[kind][0];
}

/** A call that is answered with a JSON-RPC error. */
export class JsonRpcFault extends Error {
  readonly code: number;
  readonly data: JsonObject | null;

  constructor(kind: JsonRpcFaultKind, message?: string, data: JsonObject | null = null) {
    const [code, usual] = faults[kind];
    super(message ?? usual);
    this.name = 'JsonRpcFault';
    this.code = code;
    this.data = data;
  }
}

/**
 * One request from the body of `POST /`. Bytes that are not UTF-8 or not JSON are a parse error; a batch, and a request without an id,
 * are invalid requests: every method here answers, so there are no notifications. A number that could not be echoed as it was sent is no id.
 */
export function parseJsonRpcRequest(body: Uint8Array): JsonRpcRequest | JsonRpcRefusedRequest {
  const reading = readJsonRpcRequest(body);
  for (;;) {
    const step = reading.next();
    if (step.done === true) return step.value;
  }
}

/**
 * The same in steps of a few milliseconds, for a body that somebody else's turn must not wait for: it yields after each. A long body may hold
 * 32,768 values; more of them than that took a second to make and to throw away, so it is an invalid request.
 */
export function* readJsonRpcRequest(body: Uint8Array): Generator<void, JsonRpcRequest | JsonRpcRefusedRequest> {
  const read = yield* readJsonBody(body);
  if (read.kind === 'too-many') return invalid(null, `the body holds more than ${maxBodyValues} values`);
  return read.kind === 'json' ? requestOf(read.value) : refused(null, new JsonRpcFault('parse-error'));
}

/** The JSON of a body under the same limits, in the same steps. */
export function* readJsonBody(body: Uint8Array): Generator<void, JsonText> {
  return body.length <= briefBody ? parseBrief(body) : yield* readLongJson(body, maxBodyValues);
}

function requestOf(value: unknown): JsonRpcRequest | JsonRpcRefusedRequest {
  if (typeof value !== 'object' || value === null) return invalid(null, 'not an object');
  if (Array.isArray(value)) return invalid(null, 'batches are not served');
  const { jsonrpc, id, method, params } = value as Record<string, unknown>;
  if (!isJsonRpcId(id)) return invalid(null, 'id must be a string or a number that a double holds exactly');
  if (jsonrpc !== '2.0') return invalid(id, 'jsonrpc must be "2.0"');
  if (typeof method !== 'string') return invalid(id, 'method must be a string');
  return { kind: 'request', id, method, params };
}

/** JSON text of a result that was encoded before. */
export class EncodedJson {
  readonly text: string;

  constructor(value: unknown) {
    this.text = JSON.stringify(value);
  }
}

export function encodeJsonRpcResult(id: JsonRpcId, result: unknown): string {
  if (!(result instanceof EncodedJson)) return JSON.stringify({ jsonrpc: '2.0', id, result });
  return `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${result.text}}`;
}

export function encodeJsonRpcFault(id: JsonRpcId | null, { code, message, data }: JsonRpcFault): string {
  return JSON.stringify({ jsonrpc: '2.0', id, error: { code, message, ...(data === null ? {} : { data }) } });
}

export function encodeJsonRpcRequest(id: JsonRpcId, method: string, params: unknown): string {
  return JSON.stringify({ jsonrpc: '2.0', id, method, params });
}

export type JsonRpcAnswer =
  | { readonly kind: 'result'; readonly result: unknown }
  | {
      readonly kind: 'error';
      /** Is null when it names none. */
      readonly code: number | null;
      readonly message: string;
    };

/** What answers a call; null for what does not. */
export function decodeJsonRpcAnswer(answer: unknown): JsonRpcAnswer | null {
  const fields = asJsonObject(answer);
  if (fields === null || fields['jsonrpc'] !== '2.0') return null;
  if ('result' in fields) return { kind: 'result', result: fields['result'] };
  const { code, message } = asJsonObject(fields['error']) ?? {};
  if (typeof message !== 'string') return null;
  return { kind: 'error', code: typeof code === 'number' ? code : null, message };
}

/** What an answer without a result says of why, for a person, in whatever form it says it; null when it says nothing. */
export function faultText(answer: unknown): string | null {
  const fields = asJsonObject(answer);
  if (fields === null || !('error' in fields)) return null;
  const { error } = fields;
  const fault = asJsonObject(error);
  const said = fault !== null && 'message' in fault ? fault['message'] : error;
  return typeof said === 'string' ? said : JSON.stringify(said);
}

/** Shorter ones cannot nest so deep, or hold so much, that reading them would hold up anything else. */
export const briefBody: number = 16 * 1024;
/** What a longer one may hold. */
export const maxBodyValues = 32_768;

function parseBrief(body: Uint8Array): JsonText {
  const text = decodeStrictUtf8(body);
  return text === null ? { kind: 'not-json' } : parsedJson(text);
}

function isJsonRpcId(id: unknown): id is JsonRpcId {
  return typeof id === 'string' || (typeof id === 'number' && (Number.isSafeInteger(id) || isFraction(id)));
}

function isFraction(id: number): boolean {
  return Number.isFinite(id) && !Number.isInteger(id);
}

function invalid(id: JsonRpcId | null, why: string): JsonRpcRefusedRequest {
  return refused(id, new JsonRpcFault('invalid-request', `Invalid Request: ${why}`));
}

function refused(id: JsonRpcId | null, fault: JsonRpcFault): JsonRpcRefusedRequest {
  return { kind: 'fault', id, fault };
}
