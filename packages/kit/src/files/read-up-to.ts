/** Reads no more bytes of a stream or a file than the caller can use. */

import { closeSync, fstatSync, openSync, readSync } from 'node:fs';

import { GatheredBytes } from '../gathered-bytes.ts';

/** All bytes of a stream; undefined once they exceed `maxBytes`, the rest being left unread. Rejects when the stream does not end well. */
export async function readUpTo(stream: AsyncIterable<Buffer>, maxBytes: number): Promise<Buffer | undefined> {
  const gathered = new GatheredBytes();
  for await (const chunk of stream) {
    gathered.append(chunk);
    if (gathered.length > maxBytes) return undefined;
  }
  return gathered.take();
}

/**
 * All bytes of the file at a path, or those that an open file still has; undefined when they exceed `maxBytes`, of which one byte more is read
 * at most. Throws what the system refuses. A descriptor stays open.
 */
export function readFileUpTo(file: string | number, maxBytes: number): Buffer | undefined {
  if (typeof file === 'number') return readOpenFile(file, maxBytes);
  const descriptor = openSync(file, 'r');
  try {
    return readOpenFile(descriptor, maxBytes);
  } finally {
    closeSync(descriptor);
  }
}

const smallestRead = 4096;

function readOpenFile(descriptor: number, maxBytes: number): Buffer | undefined {
  // The size is a guess: a pipe has none, and a file may be growing.
  let buffer = Buffer.allocUnsafe(Math.min(fstatSync(descriptor).size, maxBytes) + 1);
  let filled = 0;
  for (;;) {
    const count = readSync(descriptor, buffer, filled, buffer.length - filled, null);
    filled += count;
    if (filled > maxBytes) return undefined;
    if (count === 0) return buffer.subarray(0, filled);
    if (filled < buffer.length) continue;
    const larger = Buffer.allocUnsafe(Math.min(buffer.length * 2 + smallestRead, maxBytes + 1));
    buffer.copy(larger);
    buffer = larger;
  }
}
