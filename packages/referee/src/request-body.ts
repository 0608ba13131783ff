import * as z from 'zod/mini';

import { parseJsonText } from '@svc/protocol/json-text.ts';
import { decodeStrictUtf8 } from '@svc/protocol/strict-utf8.ts';
import { badRequest, type Refusal } from './refusals.ts';

/** More than any request needs; what a caller adds is ignored. */
export const maxBodyBytes = 1024 * 1024;

/** An id is kept for as long as the daemon runs. */
const maxSessionIdLength = 256;

interface BodyShape<Value> {
  readonly schema: z.ZodMiniType<Value>;
  /** What the body must be, for the refusal. */
  readonly expected: string;
}

/** Unknown keys are ignored in all of them (D2 "Endpoints"). */
export const spawnBody: BodyShape<{ name: string; version: string }> = {
  schema: z.object({ name: z.string(), version: z.string() }),
  expected: 'the body must be a JSON object with the strings name and version',
};

export const registerBody: BodyShape<{ session_id: string; name: string; version: string }> = {
  schema: z.object({
    session_id: z.string().check(z.minLength(1), z.maxLength(maxSessionIdLength)),
    name: z.string(),
    version: z.string(),
  }),
  expected: `the body must be a JSON object with the strings session_id (1 to ${maxSessionIdLength} characters), name and version`,
};

export const deregisterBody: BodyShape<{ outcome: 'complete' | 'failed'; child?: string | undefined }> = {
  schema: z.object({ outcome: z.enum(['complete', 'failed']), child: z.optional(z.string()) }),
  expected:
    'the body must be a JSON object whose outcome is complete or failed; child, where it is given, is a session id',
};

export type ParsedBody<Value> = { readonly kind: 'body'; readonly value: Value } | Refusal;

export function parseBody<Value>(body: Uint8Array, { schema, expected }: BodyShape<Value>): ParsedBody<Value> {
  const text = decodeStrictUtf8(body);
  // A byte order mark is kept, and then is no JSON.
  const json = text === null ? ({ kind: 'not-json' } as const) : parseJsonText(text);
  if (json.kind !== 'json') {
    return badRequest(`the body ${json.kind === 'too-deep' ? 'nests too deep' : 'is not valid JSON'}: ${expected}`);
  }
  const parsed = schema.safeParse(json.value);
  return parsed.success ? { kind: 'body', value: parsed.data } : badRequest(expected);
}
