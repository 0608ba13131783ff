/** Reads the JSON that comes to doors: a long body in turns of the event loop of its own. */

import { ownTurn } from '@svc/kit/own-turn.ts';
import { briefBody } from '@svc/protocol/json-rpc.ts';
import { parsedJson, type JsonText } from '@svc/protocol/json-text.ts';
import { readLongJson } from '@svc/protocol/long-json.ts';
import { decodeStrictUtf8 } from '@svc/protocol/strict-utf8.ts';

/** Of a body above 16 KiB; more of them take a second to make and to throw away. */
export const mostValues = 32_768;

/** The value of a body, or why it has none. */
export function readJson(body: Uint8Array): JsonText | Promise<JsonText> {
  if (body.length > briefBody) return readLong(body);
  const text = decodeStrictUtf8(body);
  return text === null ? { kind: 'not-json' } : parsedJson(text);
}

async function readLong(body: Uint8Array): Promise<JsonText> {
  const reading = readLongJson(body, mostValues);
  for (;;) {
    const step = reading.next();
    if (step.done === true) return step.value;
    await ownTurn();
  }
}
