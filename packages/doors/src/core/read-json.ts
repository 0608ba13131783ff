/** Reads the JSON that comes to doors. A long body is read in turns of the event loop, so that others are served meanwhile. */

import { runYielding } from '@svc/kit/yield-to-loop.ts';
import { briefBody, readJsonBody } from '@svc/protocol/json-rpc.ts';
import { parsedJson, type JsonText } from '@svc/protocol/json-text.ts';
import { decodeStrictUtf8 } from '@svc/protocol/strict-utf8.ts';

/** The value of a body, or why it has none. */
export function readJson(body: Uint8Array): JsonText | Promise<JsonText> {
  if (body.length > briefBody) return runYielding(readJsonBody(body));
  const text = decodeStrictUtf8(body);
  return text === null ? { kind: 'not-json' } : parsedJson(text);
}
