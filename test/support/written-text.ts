/** Reads what has been written to a stream. */

import type { PassThrough } from 'node:stream';

/** What has been written to a stream since it was last asked, as text. Newer versions of node give one write at a time. */
export function writtenText(stream: PassThrough): string {
  const pieces: Buffer[] = [];
  for (let piece: unknown = stream.read(); piece !== null; piece = stream.read())
    pieces.push(Buffer.from(piece as Buffer));
  return Buffer.concat(pieces).toString();
}
