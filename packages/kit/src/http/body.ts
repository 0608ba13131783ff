/** Receives the body of a request, within bounds. */

import type { IncomingMessage } from 'node:http';

import { HttpRefusal, kitRefusal } from './refusal.ts';

/** The client left, or its body was malformed: the connection is gone and there is nobody to answer. */
export class BodyAborted extends Error {
  constructor() {
    super('the request body did not end well');
    this.name = 'BodyAborted';
  }
}

/** The refusal of a body that is announced to exceed `maxBytes`. One of unknown length is measured as it is read. */
export function announcedTooLarge(request: IncomingMessage, maxBytes: number): HttpRefusal | undefined {
  // The parser has checked that the header holds digits alone.
  const announced = Number(request.headers['content-length'] ?? 0);
  return announced > maxBytes ? tooLarge(maxBytes) : undefined;
}

/**
 * The body as it arrives. Throws the refusal once it exceeds `maxBytes`, and `BodyAborted` when it does not end well: act on it only
 * after the last chunk. Leaving early leaves the rest unread.
 */
export async function* readStreamed(
  request: IncomingMessage,
  maxBytes: number,
  onFirstRead: () => void,
): AsyncGenerator<Buffer> {
  onFirstRead();
  let bytes = 0;
  const chunks = request.iterator({ destroyOnReturn: false }) as AsyncIterableIterator<Buffer>;
  try {
    for await (const chunk of chunks) {
      bytes += chunk.length;
      if (bytes > maxBytes) throw tooLarge(maxBytes);
      yield chunk;
    }
  } catch (error) {
    throw error instanceof HttpRefusal ? error : new BodyAborted();
  }
  if (!request.complete) throw new BodyAborted();
}

export function tooLarge(maxBytes: number): HttpRefusal {
  return kitRefusal('body_too_large', `The request body exceeds ${maxBytes} bytes.`);
}
