import type { IncomingMessage } from 'node:http';

/** The body of a response; undefined once it exceeds `maxBytes`, the rest being left unread. Rejects when it does not end well. */
export async function readUpTo(response: IncomingMessage, maxBytes: number): Promise<Buffer | undefined> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > maxBytes) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks, bytes);
}
