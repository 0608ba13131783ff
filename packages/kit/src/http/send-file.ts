/** Sends a part of a file over a connection. */

import type { FileHandle } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';

/** A part of an open file. */
export interface FilePart {
  readonly file: FileHandle;
  readonly start: number;
  readonly length: number;
}

const pieceBytes = 256 * 1024;
const mostIdle = 8;

/** Memory of sends that are over. Fresh memory for every piece would cost more than the bytes that go through it. */
const idle: Buffer[] = [];

/**
 * Writes a part of a file as the body of a response whose head is written, and closes the file. One piece is in memory at a time. A file that
 * ends before the part does, or cannot be read, has the connection cut; what is thrown then is the error of reading.
 */
export async function sendFile(response: ServerResponse, { file, start, length }: FilePart): Promise<void> {
  const piece = idle.pop() ?? Buffer.allocUnsafeSlow(pieceBytes);
  let isWhole = false;
  try {
    let sent = 0;
    for (let isTaken = true; isTaken && sent < length;) {
      const { bytesRead } = await file.read(piece, 0, Math.min(pieceBytes, length - sent), start + sent);
      isTaken = bytesRead > 0 && (await written(response, piece.subarray(0, bytesRead)));
      sent += bytesRead;
    }
    isWhole = sent === length && !response.destroyed;
  } finally {
    // Of a connection that was cut, the system may still be about to take what was written.
    if (isWhole && idle.length < mostIdle) idle.push(piece);
    if (isWhole) response.end();
    else response.destroy();
    await file.close();
  }
}

/** Resolves once the system has taken the bytes, so that their memory can be used again; false when the connection is gone. */
async function written(response: ServerResponse, bytes: Buffer): Promise<boolean> {
  return await new Promise((resolve) => {
    const gone = (): void => resolve(false);
    response.once('close', gone);
    response.write(bytes, (error) => {
      response.off('close', gone);
      resolve(error === null || error === undefined);
    });
    if (response.destroyed) gone();
  });
}
