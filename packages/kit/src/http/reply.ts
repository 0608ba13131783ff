/** What a handler may answer. */

import type { ServerResponse } from 'node:http';
import type { Readable } from 'node:stream';

import type { FilePart } from './send-file.ts';

export type ReplyHeaders = Readonly<Record<string, string>>;

interface ReplyHead {
  readonly status: number;
  /** Beside `content-type` and `content-length`, which the kit writes. */
  readonly headers?: ReplyHeaders | undefined;
}

/** What a handler answers with. The kit writes it, whole and once. */
export type Reply =
  | (ReplyHead & { readonly kind: 'empty' })
  /** JSON text, sent as `application/json`. */
  | (ReplyHead & { readonly kind: 'json'; readonly text: string })
  | (ReplyHead & {
      readonly kind: 'bytes';
      readonly contentType: string;
      readonly bytes: Uint8Array;
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
    })
  /** A part of a file, which the kit closes in every case. When there is less of it than `length`, or it cannot be read, the connection is cut. */
  | (ReplyHead & FilePart & { readonly kind: 'file'; readonly contentType: string })
  | StreamReply;

/**
 * The handler writes the response itself, headers included, and ends it. `start` is called once; its socket may be written to. When the
 * client is gone by then, `abandon` is called instead.
 */
export interface StreamReply {
  readonly kind: 'stream';
  readonly start: (response: ServerResponse) => void;
  readonly abandon?: () => void;
}

export function jsonReply(value: unknown, status = 200, headers?: ReplyHeaders): Reply {
  return { kind: 'json', status, text: JSON.stringify(value), headers };
}

export function emptyReply(status: number, headers?: ReplyHeaders): Reply {
  return { kind: 'empty', status, headers };
}
