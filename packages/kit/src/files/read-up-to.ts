import type { IncomingMessage } from 'node:http';

import { GatheredBytes } from '@svc/protocol/gathered-bytes.ts';

/** The body of a response; undefined once it exceeds `maxBytes`, the rest being left unread. Rejects when it does not end well. */
export async function readUpTo(response: IncomingMessage, maxBytes: number): Promise<Buffer | undefined> {
  const gathered = new GatheredBytes();
  for await (const chunk of response as AsyncIterable<Buffer>) {
    gathered.append(chunk);
    if (gathered.length > maxBytes) return undefined;
  }
  return gathered.take();
}
