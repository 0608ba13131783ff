/** The refusals that a handler may throw. */

import { encodeRefusal } from '@svc/protocol/refusal.ts';
import { jsonReply, type Reply, type ReplyHeaders } from './reply.ts';

/**
 * What the kit itself refuses, and with which status. The parser of `node:http` refuses more before any of this is asked, with an
 * empty body: a request line, header or chunk it cannot read (400), a passed time limit (408),
 * chunk extensions (413) or headers (431) that are too large.
 */
const statuses = {
  /** Two `Host` headers, or none in HTTP/1.1; which of them a proxy in front believed cannot be known. */
  ambiguous_host: 400,
  /** `Transfer-Encoding` in HTTP/1.0 or beside `Content-Length`: two readings of where the body ends. */
  ambiguous_body: 400,
  /** A target that is not a path: an absolute URL, `*`, or one with a fragment. */
  bad_target: 400,
  unauthorized: 401,
  /** A web page of another origin asks through somebody's browser. */
  page_refused: 403,
  not_found: 404,
  method_not_allowed: 405,
  /** A body that is taken whole, where the server leaves the time of others to who reads them. */
  body_too_slow: 408,
  body_too_large: 413,
  expectation_failed: 417,
  /** A name that is not loopback, asked of a loopback listener (DNS rebinding). */
  host_refused: 421,
  internal_error: 500,
  /** Bodies or answers of all clients together take as much memory as they may. */
  busy: 503,
  /** A transfer coding other than `chunked` alone. */
  unknown_transfer_coding: 501,
  /** HTTP/0.9, which carries no headers to check. */
  unknown_http_version: 505,
} as const satisfies Record<string, number>;

type KitRefusalCode = keyof typeof statuses;

/** A request that is answered with a status and `{ "error": code, "message": text }`. Handlers throw it, or return its `reply`. */
export class HttpRefusal extends Error {
  readonly status: number;
  readonly code: string;
  readonly headers: ReplyHeaders | undefined;

  constructor(status: number, code: string, message: string, headers?: ReplyHeaders) {
    super(message);
    this.name = 'HttpRefusal';
    this.status = status;
    this.code = code;
    this.headers = headers;
  }

  get reply(): Reply {
    return jsonReply(encodeRefusal({ error: this.code, message: this.message }), this.status, this.headers);
  }
}

/** A refusal of the kit, with the status of its table. */
export function kitRefusal(code: KitRefusalCode, message: string, headers?: ReplyHeaders): HttpRefusal {
  return new HttpRefusal(statuses[code], code, message, headers);
}

/** What a client hears whose request was fine and came at a bad time. Nothing was done for it. */
export function busy(): HttpRefusal {
  return kitRefusal('busy', 'Too much is on its way to and from this address; ask again.', { 'retry-after': '1' });
}
