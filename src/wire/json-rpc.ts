import { parseJsonText } from './json-text.ts';
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

/** Every fault a capsule answers with: its code, and its message unless the thrower has a better one (contracts §6). */
const faults = {
  'parse-error': [-32700, 'Parse error'],
  'invalid-request': [-32600, 'Invalid Request'],
  'method-not-found': [-32601, 'Method not found'],
  'invalid-params': [-32602, 'Invalid params'],
  'internal-error': [-32603, 'Internal error'],
  'task-not-found': [-32001, 'Task not found'],
  /** A completion for another session, or of a delegation this session does not know. */
  'completion-refused': [-32004, 'Completion refused'],
} as const satisfies Record<string, readonly [number, string]>;

export type JsonRpcFaultKind = keyof typeof faults;

/** A call that is answered with a JSON-RPC error. */
export class JsonRpcFault extends Error {
  readonly code: number;

  constructor(kind: JsonRpcFaultKind, message?: string) {
    const [code, usual] = faults[kind];
    super(message ?? usual);
    this.name = 'JsonRpcFault';
    this.code = code;
  }
}

/**
 * One request from the body of `POST /`. Bytes that are not UTF-8 or not JSON are a parse error; a batch, and a request without an id,
 * are invalid requests: every method here answers, so there are no notifications. A number that could not be echoed as it was sent is no id.
 */
export function parseJsonRpcRequest(body: Uint8Array): JsonRpcRequest | JsonRpcRefusedRequest {
  const value = parseJson(body);
  if (value === undefined) return refused(null, new JsonRpcFault('parse-error'));
  if (typeof value !== 'object' || value === null) return invalid(null, 'not an object');
  if (Array.isArray(value)) return invalid(null, 'batches are not served');
  const { jsonrpc, id, method, params } = value as Record<string, unknown>;
  if (!isJsonRpcId(id)) return invalid(null, 'id must be a string or a number that a double holds exactly');
  if (jsonrpc !== '2.0') return invalid(id, 'jsonrpc must be "2.0"');
  if (typeof method !== 'string') return invalid(id, 'method must be a string');
  return { kind: 'request', id, method, params };
}

/** Shorter texts cannot nest so deep that reading them would hold up anything else. */
const briefText = 16 * 1024;

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

export function encodeJsonRpcFault(id: JsonRpcId | null, { code, message }: JsonRpcFault): string {
  return JSON.stringify({ jsonrpc: '2.0', id, error: { code, message } });
}

// A byte order mark is kept, and then is no JSON.

/** Undefined for what is no JSON text: JSON has no undefined. */
function parseJson(body: Uint8Array): unknown {
  try {
    const text = decodeStrictUtf8(body);
    if (text.length <= briefText) return JSON.parse(text) as unknown;
    const parsed = parseJsonText(text);
    return parsed.kind === 'json' ? parsed.value : undefined;
  } catch (error) {
    // The decoder's error is a TypeError, the parser's a SyntaxError.
    if (error instanceof TypeError || error instanceof SyntaxError) return undefined;
    throw error;
  }
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
