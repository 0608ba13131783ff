/** Passes the body of a request on, and checks its framing. */

import type { BodyFraming } from './request-head.ts';
import type { SocketReader } from './socket-reader.ts';

/** The client broke the framing of its body, or left before its end. */
export class MalformedBody extends Error {}

const maxLineBytes = 8 * 1024;
const maxTrailerBytes = 32 * 1024;
const sizeShape = /^[0-9A-Fa-f]{1,12}$/;
const trailerShape = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+:[\t\x20-\x7e\x80-\xff]*$/;

/**
 * The pieces of a body without its framing, read as they are asked for; what follows the body stays unread. Throws
 * `MalformedBody`. Chunks are taken strictly: a size and nothing else, each line ending with CR LF. Trailers are dropped.
 */
export function readBody(reader: SocketReader, framing: BodyFraming): AsyncGenerator<Buffer, void, undefined> {
  switch (framing.kind) {
    case 'none':
      return readExactly(reader, 0);
    case 'length':
      return readExactly(reader, framing.bytes);
    case 'chunked':
      return readChunks(reader);
  }
}

async function* readExactly(reader: SocketReader, bytes: number): AsyncGenerator<Buffer, void, undefined> {
  let left = bytes;
  while (left > 0) {
    const piece = await reader.read();
    if (piece === null) throw new MalformedBody('The body ended early.');
    const taken = piece.subarray(0, left);
    reader.unread(piece.subarray(taken.length));
    left -= taken.length;
    yield taken;
  }
}

async function* readChunks(reader: SocketReader): AsyncGenerator<Buffer, void, undefined> {
  for (;;) {
    const size = await readLine(reader);
    if (!sizeShape.test(size)) throw new MalformedBody('The size of a chunk is malformed.');
    const bytes = Number.parseInt(size, 16);
    if (bytes === 0) break;
    yield* readExactly(reader, bytes);
    if ((await readLine(reader)) !== '') throw new MalformedBody('A chunk is longer than its size.');
  }
  await skipTrailers(reader);
}

async function skipTrailers(reader: SocketReader): Promise<void> {
  for (let left = maxTrailerBytes; left > 0;) {
    const line = await readLine(reader);
    if (line === '') return;
    if (!trailerShape.test(line)) throw new MalformedBody('A trailer is malformed.');
    left -= line.length;
  }
  throw new MalformedBody('The trailers are too long.');
}

/** A line without its CR LF. */
async function readLine(reader: SocketReader): Promise<string> {
  let line = '';
  while (line.length <= maxLineBytes) {
    const piece = await reader.read();
    if (piece === null) throw new MalformedBody('The body ended early.');
    const end = piece.indexOf('\n');
    const taken = end === -1 ? piece : piece.subarray(0, end + 1);
    reader.unread(piece.subarray(taken.length));
    line += taken.toString('latin1');
    if (end === -1) continue;
    if (!line.endsWith('\r\n')) throw new MalformedBody('A line does not end with CR LF.');
    return line.slice(0, -2);
  }
  throw new MalformedBody('A line is too long.');
}
