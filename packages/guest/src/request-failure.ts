/** Says why a request to a server came to nothing, in words for whoever runs the capsule. */

const maxMessage = 400;

export interface RequestFailureDetails {
  /** The same request may succeed if it is sent again. */
  readonly transient: boolean;
  /** How long the server asks to be left alone, in milliseconds; null when it does not say. */
  readonly retryAfterMs?: number | null;
  /** The status of HTTP that the server refused the request with, in its head or in its words; null when there is none. */
  readonly status?: number | null;
}

/** The server could not be reached, refused, or broke off. The message is one line that an operator can act on. */
export class RequestFailure extends Error {
  readonly transient: boolean;
  readonly retryAfterMs: number | null;
  readonly status: number | null;

  constructor(message: string, details: RequestFailureDetails) {
    super(oneLine(message));
    this.name = 'RequestFailure';
    this.transient = details.transient;
    this.retryAfterMs = details.retryAfterMs ?? null;
    this.status = details.status ?? null;
  }
}

/** `text` on one line, without control characters, cut at 400 characters. */
export function oneLine(text: string): string {
  const line = text
    .slice(0, maxMessage * 4)
    .replace(/[\s\p{Cc}]+/gu, ' ')
    .trim();
  return line.length <= maxMessage ? line : `${line.slice(0, maxMessage)}…`;
}

/** An `error-code` of `wasi:http`. */
export interface HttpErrorCode {
  readonly tag: string;
  readonly val?: unknown;
}

const sentences: ReadonlyMap<string, string> = new Map([
  ['DNS-error', 'the name does not resolve'],
  ['DNS-timeout', 'the name server does not answer'],
  ['HTTP-request-denied', 'the capsule may not connect to it'],
  ['TLS-certificate-error', 'its certificate is not trusted'],
  ['connection-limit-reached', 'too many requests of this component are open, or too much of them is not sent yet'],
  ['connection-refused', 'connection refused'],
  ['connection-terminated', 'connection closed before a response'],
  ['connection-timeout', 'connection timed out'],
]);

/** Why a response did not come to its end. */
const cutOff: ReadonlyMap<string, string> = new Map([
  ['HTTP-response-incomplete', 'the other side closed it'],
  ['connection-terminated', 'the other side closed it'],
  ['connection-read-timeout', 'nothing more came for too long'],
  ['HTTP-response-timeout', 'nothing more came for too long'],
  ['HTTP-protocol-error', 'what came is not HTTP'],
]);

/** What would fail in the same way again. */
const lasting =
  /^(HTTP-request-|HTTP-response-content-coding|TLS-certificate-error|configuration-error|loop-detected|destination-IP-prohibited)/;

/** What a proxy answers each time. */
const refusedByProxy = /^the proxy \S+ does not connect to \S+ \((?!408|425|429)4\d\d\)$/;

/** Why a response that had begun is not whole. `said` is what the stream says of itself; runtimes end it with an `error-code` of `wasi:http`. */
export function brokenResponse(said: string): RequestFailure {
  const [tag = ''] = /[A-Za-z]+(?:-[A-Za-z]+)+$/.exec(said) ?? [];
  const reason = cutOff.get(tag) ?? said;
  return new RequestFailure(`the connection broke before the response was whole: ${reason}`, { transient: true });
}

/** Why an answer in this coding is not read: it is asked for as it is, so that it can be looked through for the key. */
export function compressedAnswer(coding: string): RequestFailure {
  return new RequestFailure(`the answer is compressed (${coding}), which was not asked for`, { transient: false });
}

/** Why no response came from `origin`. */
export function connectionFailure(origin: string, code: HttpErrorCode): RequestFailure {
  const detail = typeof code.val === 'string' && code.val !== '' ? code.val : null;
  if (code.tag === 'HTTP-response-content-coding') return compressedAnswer(detail ?? 'in an unknown coding');
  const reason = sentences.get(code.tag) ?? detail ?? code.tag.replaceAll('-', ' ');
  const isLasting = lasting.test(code.tag) || refusedByProxy.test(reason);
  return new RequestFailure(`cannot reach ${origin}: ${reason}`, { transient: !isLasting });
}
