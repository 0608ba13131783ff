/** Defines the messages with which the process of a component has the session make HTTP requests, and the errors that come back. */

import { errorCode } from '@svc/kit/diagnostics/system-reason.ts';
import { type NetworkFault, networkFault } from '@svc/kit/net/network-reason.ts';
import { NoAddress } from '@svc/kit/net/resolver.ts';
import { isHttpToken } from '@svc/protocol/header-syntax.ts';

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

/** Whether a text is a method. Like a path, another one is refused as soon as the guest sets it, and again before anything is sent. */
export function isMethod(text: string): boolean {
  return text.length <= 64 && isHttpToken(text);
}

const pathShape = /^[/?][\x21-\x22\x24-\x7e]*$/;

/** A path with its query, or a query alone; no fragment. */
export function isPathWithQuery(text: string): boolean {
  return pathShape.test(text);
}

/** For a request, as `headerSectionBytes` counts; more is refused before it is handed over, and again where it arrives. */
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
  | {
      readonly operation: 'wait';
      readonly waits: readonly RemoteWait[];
      readonly timeoutMs: number | null;
      /** Whether the answer brings what has come with it: nothing else would bring it again. */
      readonly takes: boolean;
    }
  | { readonly operation: 'close'; readonly exchange: number };

export interface RemoteAnswers {
  readonly open: OpenAnswer;
  readonly write: WriteAnswer;
  readonly finish: WriteAnswer;
  readonly head: HeadAnswer;
  readonly read: ReadAnswer;
  readonly wait: WaitAnswer;
  readonly close: null;
}

export interface WaitAnswer {
  /** Indexes of the waits that are over. */
  readonly over: readonly number[];
  /** The arrival for the first of these waits. */
  readonly arrival: Arrival | null;
}

/** What would have been asked for next. */
export interface Arrival {
  readonly exchange: number;
  readonly head?: HeadAnswer;
  /** As much of the body as is there, once the head is known. */
  readonly read?: ReadAnswer;
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

type PlainTag =
  | 'DNS-timeout'
  | 'destination-not-found'
  | 'destination-unavailable'
  | 'destination-IP-prohibited'
  | 'connection-refused'
  | 'connection-terminated'
  | 'connection-timeout'
  | 'connection-read-timeout'
  | 'connection-write-timeout'
  | 'connection-limit-reached'
  | 'TLS-protocol-error'
  | 'TLS-certificate-error'
  | 'HTTP-request-denied'
  | 'HTTP-request-method-invalid'
  | 'HTTP-request-URI-invalid'
  | 'HTTP-request-URI-too-long'
  | 'HTTP-response-incomplete'
  | 'HTTP-response-timeout'
  | 'HTTP-upgrade-failed'
  | 'HTTP-protocol-error';

/** The part of `wasi:http/types#error-code` that this host gives. */
export type HttpErrorCode =
  | { readonly tag: PlainTag }
  | { readonly tag: 'DNS-error'; readonly val: { readonly rcode: string | undefined; readonly infoCode: undefined } }
  | { readonly tag: 'HTTP-request-body-size'; readonly val: bigint | undefined }
  | { readonly tag: 'HTTP-request-header-section-size'; readonly val: number | undefined }
  | { readonly tag: 'HTTP-response-header-section-size'; readonly val: number | undefined }
  | { readonly tag: 'HTTP-response-content-coding'; readonly val: string | undefined }
  | { readonly tag: 'internal-error'; readonly val: string | undefined };

const tags: Readonly<Partial<Record<NetworkFault, PlainTag>>> = {
  refused: 'connection-refused',
  'slow-lookup': 'DNS-timeout',
  'prohibited-address': 'destination-IP-prohibited',
  unreachable: 'destination-unavailable',
  silent: 'connection-timeout',
  cut: 'connection-terminated',
  'no-tls': 'TLS-protocol-error',
  tls: 'TLS-protocol-error',
  certificate: 'TLS-certificate-error',
  'no-http': 'HTTP-protocol-error',
};

/** What went wrong with a connection, in the guest's terms. */
export function httpErrorCode(error: Error): HttpErrorCode {
  const code = errorCode(error) ?? '';
  if (code === 'HPE_HEADER_OVERFLOW') return { tag: 'HTTP-response-header-section-size', val: undefined };
  const fault = networkFault(code);
  if (error instanceof NoAddress && fault !== 'slow-lookup') {
    return { tag: 'DNS-error', val: { rcode: code, infoCode: undefined } };
  }
  const tag = fault === undefined ? undefined : tags[fault];
  return tag === undefined ? { tag: 'internal-error', val: error.message } : { tag };
}
