/** Says why a capsule, a referee or a registry gave no usable answer, for programs to act on. */

/** Why something cannot be had. The codes do not change their meaning. */
export type ClientErrorCode =
  /** No whole answer came: nothing listens there, or the connection broke. */
  | 'unreachable'
  /** No answer, or nothing more of one, came in time. */
  | 'timeout'
  /** An answer, a frame or a file is larger than it may be. */
  | 'too-large'
  /** Answered with a status that refuses; `status` has it, `refusal` what was said. */
  | 'refused'
  /** Answered with a JSON-RPC error, whose code is `fault`. */
  | 'fault'
  /** The answer is no JSON. */
  | 'not-json'
  /** A stream was asked for, and something else came. */
  | 'no-stream'
  /** The answer is not what is answered to this. */
  | 'bad-answer'
  /** The card does not list it. */
  | 'not-served'
  /** The `url` that was given is no address, so nothing was sent. */
  | 'bad-url'
  /** The token cannot be sent in a header, so nothing was sent. */
  | 'bad-token'
  /** A header cannot hold the value that was given for it, so nothing was sent. */
  | 'bad-header'
  /** A browser makes no hash for a page that is not secure, so no file and no archive is asked for or sent. */
  | 'insecure-page'
  /** The card is not that of the capsule that is expected. */
  | 'another-capsule'
  /** A stream broke, and could not be taken up again. */
  | 'lost';

export interface ClientErrorDetails {
  readonly status?: number;
  /** What was said of why: the code or sentence of a refusal, the message of an error. */
  readonly refusal?: string | null;
  /** The code of a JSON-RPC error. */
  readonly fault?: number | null;
  readonly cause?: unknown;
}

/** Everything that a client throws, except the reason of an aborted signal. What others said is in its message as they said it. */
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
