/** Reads the bodies that are sent to the referee. */

import { parseJsonText } from '@svc/protocol/json-text.ts';
import {
  decodeDeregisterRequest,
  decodeRegisterRequest,
  decodeSpawnRequest,
  longestSessionId,
  type DeregisterRequest,
  type RegisterRequest,
  type SpawnRequest,
} from '@svc/protocol/referee-messages.ts';
import { decodeStrictUtf8 } from '@svc/protocol/strict-utf8.ts';
import { badRequest, type Refusal } from './refusals.ts';

/** More than any request needs; what a caller adds is ignored. */
export const maxBodyBytes = 1024 * 1024;

interface BodyShape<Value> {
  readonly decode: (body: unknown) => Value | null;
  /** What the body must be, for the refusal. */
  readonly expected: string;
}

export const spawnBody: BodyShape<SpawnRequest> = {
  decode: decodeSpawnRequest,
  expected: 'the body must be a JSON object with the strings name and version',
};

export const registerBody: BodyShape<RegisterRequest> = {
  decode: decodeRegisterRequest,
  expected: `the body must be a JSON object with the strings session_id (1 to ${longestSessionId} characters), name and version`,
};

export const deregisterBody: BodyShape<DeregisterRequest> = {
  decode: decodeDeregisterRequest,
  expected:
    'the body must be a JSON object whose outcome is complete or failed; child, where it is given, is a session id',
};

export type ParsedBody<Value> = { readonly kind: 'body'; readonly value: Value } | Refusal;

export function parseBody<Value>(body: Uint8Array, { decode, expected }: BodyShape<Value>): ParsedBody<Value> {
  const text = decodeStrictUtf8(body);
  // A byte order mark is kept, and then is no JSON.
  const json = text === null ? ({ kind: 'not-json' } as const) : parseJsonText(text);
  if (json.kind !== 'json') {
    return badRequest(`the body ${json.kind === 'too-deep' ? 'nests too deep' : 'is not valid JSON'}: ${expected}`);
  }
  const value = decode(json.value);
  return value === null ? badRequest(expected) : { kind: 'body', value };
}
