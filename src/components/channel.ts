import { readSync, writeSync } from 'node:fs';

import { decodeBody, encodeFrame, lengthBytes, messageDescriptor } from './frames.ts';

/** The exchange with the session as a process of `NodeProcess` has it: reading and writing wait, and no event loop is needed. */

/** The next message; ends the process when the session has let go of it. */
export function receive(): unknown {
  const length = readExactly(lengthBytes).readUInt32LE();
  return decodeBody(readExactly(length));
}

/** Returns once the message is on its way, which waits while the session has not taken what was sent before. */
export function send(message: unknown): void {
  const frame = encodeFrame(message);
  for (let at = 0; at < frame.length;) at += writeSync(messageDescriptor, frame, at);
}

/** Sends the last message there is: what called this does not go on. */
export function sendLast(message: unknown): never {
  send(message);
  return process.exit();
}

function readExactly(size: number): Buffer {
  const bytes = Buffer.allocUnsafe(size);
  for (let at = 0; at < size;) {
    const read = readSync(messageDescriptor, bytes, at, size - at, null);
    if (read === 0) return process.exit();
    at += read;
  }
  return bytes;
}
