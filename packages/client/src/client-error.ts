/** Says why a capsule, a referee or a registry gave no usable answer, for programs to act on. */

/** Why a call failed. The codes do not change their meaning. */
export type ClientErrorCode =
  /** No whole answer came: nothing listens there, or the connection broke. */
  | 'unreachable'
  /** No answer came in time, or it stopped. */
  | 'timeout'
  /** An answer, a frame or a file is larger than it may be. */
  | 'too-large'
  /** Answered with a status that refuses; `status` has it, `refusal` the reason. */
  | 'refused'
  /** Answered with a JSON-RPC error, whose code is `fault`. */
  | 'fault'
  /** The answer is not JSON. */
  | 'not-json'
  /** The client asked for a stream, and got something else. */
  | 'no-stream'
  /** The answer does not fit the question. */
  | 'bad-answer'
  /** The card does not list it. */
  | 'not-served'
  /** The given `url` is not an address, so nothing was sent. */
  | 'bad-url'
  /** The token cannot be sent in a header, so nothing was sent. */
  | 'bad-token'
  /** The given value does not fit into a header, so nothing was sent. */
  | 'bad-header'
  /** A browser computes no hash for an insecure page, so the client neither requests nor sends a file or an archive. */
  | 'insecure-page'
  /** The card belongs to another capsule than the expected one. */
  | 'another-capsule'
  /** A stream broke, and the client could not resume it. */
  | 'lost';

export interface ClientErrorDetails {
  readonly status?: number;
  /** The reason: the code or sentence of a refusal, the message of an error. */
  readonly refusal?: string | null;
  /** The code of a JSON-RPC error. */
  readonly fault?: number | null;
  readonly cause?: unknown;
}

/** Everything that a client throws, except the reason of an aborted signal. Its message repeats the words of the other side unchanged. */
export class ClientError extends Error {
  readonly code: ClientErrorCode;
  readonly status: number | null;
  readonly refusal: string | null;
  readonly fault: number | null;

  constructor(code: ClientErrorCode, message: string, details: ClientErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.name = 'ClientError';
    this.code = code;
    this.status = details.status ?? null;
    this.refusal = details.refusal ?? null;
    this.fault = details.fault ?? null;
  }
}
