/** Talks with the session from inside a process of `NodeProcess`: reading and writing wait, and no event loop is needed. */

import { readSync } from 'node:fs';

import { writeAllSync } from '@svc/kit/files/transfer-sync.ts';
import { decodeBody, encodeMessage, lengthBytes, messageDescriptor } from './message-bytes.ts';

/** More than most messages, so that one read brings them whole; few enough to lie in memory that is there already. */
const pieceBytes = 2 * 1024;
let unread: Buffer = Buffer.alloc(0);

/** The next message; ends the process when the session has let go of it. */
export function receive(): unknown {
  const length = take(lengthBytes).readUInt32LE();
  return decodeBody(take(length));
}

/** Bytes that nothing else uses: a message may keep views of them. */
function take(size: number): Buffer {
  if (unread.length < size) unread = filled(size);
  const bytes = unread.subarray(0, size);
  unread = unread.subarray(size);
  return bytes;
}

/** What is unread and as much behind it as has come, `size` bytes at least. */
function filled(size: number): Buffer {
  const bytes = Buffer.allocUnsafe(Math.max(size, pieceBytes));
  let at = unread.copy(bytes);
  while (at < size) {
    const read = readSync(messageDescriptor, bytes, at, bytes.length - at, null);
    if (read === 0) return process.exit();
    at += read;
  }
  return bytes.subarray(0, at);
}

/** Returns once the message is on its way, which waits while the session has not taken what was sent before. */
export function send(message: unknown): void {
  writeAllSync(messageDescriptor, encodeMessage(message));
}

/** Sends the last message there is: what called this does not go on. */
export function sendLast(message: unknown): never {
  send(message);
  return process.exit();
}
