/** What a handler may answer, a part of a file included. */

import type { ServerResponse } from 'node:http';
import type { Readable } from 'node:stream';
import type { FileHandle } from 'node:fs/promises';

export type ReplyHeaders = Readonly<Record<string, string>>;

interface ReplyHead {
  readonly status: number;
  /** Beside `content-type` and `content-length`, which the kit writes. */
  readonly headers?: ReplyHeaders | undefined;
}

/** What a handler answers with. The kit writes it, whole and once. */
export type Reply =
  | (ReplyHead & { readonly kind: 'empty' })
  /** JSON text, sent as `application/json` where it names no other type. */
  | (ReplyHead & { readonly kind: 'json'; readonly text: string; readonly contentType?: string })
  | (ReplyHead & {
      readonly kind: 'bytes';
      readonly contentType: string;
      readonly bytes: Uint8Array;
      /** The bytes are shared, so a slow reader costs no extra memory. */
      readonly isShared?: boolean;
      /** Called once, when nobody needs the bytes any more. `isTaken` when the system has all of them, so that their memory is free. */
      readonly onDone?: ((isTaken: boolean) => void) | undefined;
    })
  /**
   * Bytes from a source that the kit destroys in every case, also when the client is gone already. A source that fails, or has not
   * exactly `length` bytes, has the connection cut; null where the length is not known.
   */
  | (ReplyHead & {
      readonly kind: 'readable';
      readonly contentType: string;
      readonly length: number | null;
      readonly source: Readable;
      /**
       * What means nothing between two pieces. It is written to a client that has ended its half, to hear whether that has left, and where the source is so long in
       * coming that the connection would be taken for one whose client takes nothing. Of a stream of events it is a comment.
       */
      readonly empty?: string;
      /** The same as of bytes: the source may have ended long before its client has taken what it gave. */
      readonly onDone?: ((isTaken: boolean) => void) | undefined;
    })
  /** A part of a file, which the kit closes in every case. When there is less of it than `length`, or it cannot be read, the connection is cut. */
  | (ReplyHead & FilePart & { readonly kind: 'file'; readonly contentType: string })
  | StreamReply;

/**
 * The handler writes the response itself, headers included, and ends it. `start` is called once; its socket may be written to. It may throw a
 * refusal as long as it has written nothing. When the client is gone by then, `abandon` is called instead.
 */
export interface StreamReply {
  readonly kind: 'stream';
  readonly start: (response: ServerResponse) => void;
  readonly abandon?: () => void;
  /** It goes on for a client that has ended its half of the connection, and finds out by itself whether that has left. Else the client has left. */
  readonly outlivesHalf?: boolean;
}

export function jsonReply(value: unknown, status = 200, headers?: ReplyHeaders): Reply {
  return { kind: 'json', status, text: JSON.stringify(value), headers };
}

export function emptyReply(status: number, headers?: ReplyHeaders): Reply {
  return { kind: 'empty', status, headers };
}

/** A part of an open file. */
interface FilePart {
  readonly file: FileHandle;
  readonly start: number;
  readonly length: number;
}

const pieceBytes = 256 * 1024;
const maxIdle = 8;

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
    // After a cut connection, the system may still be about to take what was written.
    if (isWhole && idle.length < maxIdle) idle.push(piece);
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
