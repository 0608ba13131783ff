/** Says what the process of a component asks of the session about its HTTP requests. */

import type { HttpErrorCode } from './http-error-code.ts';

/** A request as the guest made it; nothing of it has been checked. */
export interface RequestHead {
  readonly method: string;
  readonly scheme: string;
  readonly authority: string;
  readonly pathWithQuery: string;
  /** Field values are bytes. */
  readonly headers: readonly (readonly [name: string, value: Uint8Array])[];
  /** The guest's own limits, each null when it set none. */
  readonly connectTimeoutMs: number | null;
  readonly firstByteTimeoutMs: number | null;
  readonly betweenBytesTimeoutMs: number | null;
}

/** Of a request, as `headerSectionBytes` counts; more is refused before it is handed over, and again where it arrives. */
export const largestHeaderSection: number = 256 * 1024;

/** As written: names, values, what stands between them. */
export function headerSectionBytes(headers: RequestHead['headers']): number {
  return headers.reduce((sum, [name, value]) => sum + name.length + value.length + 4, 0);
}

/** What there is of the body when the request is handed over. */
export interface RequestBodyStart {
  readonly bytes: Uint8Array;
  /** Whether that is all of it. */
  readonly finished: boolean;
}

export interface RemoteWait {
  readonly exchange: number;
  readonly event: 'head' | 'body';
}

/** What the guest's process asks of the outbound exchanges; `exchange` is the number `open` gave. */
export type RemoteRequest =
  | { readonly operation: 'open'; readonly head: RequestHead; readonly body: RequestBodyStart }
  | { readonly operation: 'write'; readonly exchange: number; readonly bytes: Uint8Array }
  | { readonly operation: 'finish'; readonly exchange: number }
  | { readonly operation: 'head'; readonly exchange: number }
  | { readonly operation: 'read'; readonly exchange: number; readonly wait: boolean }
  | { readonly operation: 'wait'; readonly waits: readonly RemoteWait[]; readonly timeoutMs: number | null }
  | { readonly operation: 'close'; readonly exchange: number };

export interface RemoteAnswers {
  readonly open: OpenAnswer;
  readonly write: WriteAnswer;
  readonly finish: WriteAnswer;
  readonly head: HeadAnswer;
  readonly read: ReadAnswer;
  /** Indexes of the waits that are over. */
  readonly wait: readonly number[];
  readonly close: null;
}

/** A refused request has no exchange: nothing is kept for it. */
export type OpenAnswer =
  | { readonly kind: 'opened'; readonly exchange: number }
  | { readonly kind: 'refused'; readonly error: HttpErrorCode };

export type WriteAnswer = { readonly kind: 'accepted' } | { readonly kind: 'failed'; readonly error: HttpErrorCode };

export type HeadAnswer =
  | { readonly kind: 'pending' }
  | { readonly kind: 'failed'; readonly error: HttpErrorCode }
  | {
      readonly kind: 'arrived';
      readonly status: number;
      readonly headers: readonly (readonly [name: string, value: Uint8Array])[];
    };

export type ReadAnswer =
  | { readonly kind: 'pending' }
  | { readonly kind: 'bytes'; readonly bytes: Uint8Array }
  | { readonly kind: 'ended' }
  | { readonly kind: 'failed'; readonly error: HttpErrorCode };
