/** Gives components HTTP requests (`wasi:http`). */

import {
  headerSectionBytes,
  largestHeaderSection,
  type OpenAnswer,
  type RequestHead,
} from '../../outbound/remote-messages.ts';
import { IoError, type WaitingRoom } from '../io.ts';
import type { Mailbox } from '../mailbox.ts';
import { HostObject } from '../retained.ts';
import { Fields } from './fields.ts';
import { HttpExchange } from './http-exchange.ts';
import { FutureIncomingResponse, FutureTrailers, IncomingBody, IncomingResponse } from './incoming-response.ts';
import { milliseconds, OutgoingRequest, RequestOptions, OutgoingBody } from './outgoing-request.ts';

/** The serving half of `wasi:http`: named by some components, reached by none. */
class Unserved extends HostObject {}

/**
 * `wasi:http`, by interface. Whether a request may be made is decided by the session; a refusal resolves the response
 * with an error, because some guests do not survive an error of `handle` itself.
 */
export function http(mailbox: Mailbox, room: WaitingRoom): Readonly<Record<string, Readonly<Record<string, unknown>>>> {
  class Request extends OutgoingRequest {
    constructor(headers: Fields) {
      super(headers, room);
    }
  }
  const handle = (request: OutgoingRequest, options: RequestOptions | undefined): FutureIncomingResponse => {
    const body = request.requestBody;
    const head = requestHead(request, options);
    const start = request.hasBody ? body.start() : { bytes: new Uint8Array(0), finished: true };
    const size = headerSectionBytes(head.headers);
    const opened: OpenAnswer =
      size > largestHeaderSection
        ? { kind: 'refused', error: { tag: 'HTTP-request-header-section-size', val: size } }
        : mailbox.askRemote({ operation: 'open', head, body: start });
    request[Symbol.dispose]();
    options?.[Symbol.dispose]();
    const exchange = new HttpExchange(mailbox, opened);
    body.connect(exchange);
    return new FutureIncomingResponse(exchange, room);
  };
  return {
    'wasi:http/outgoing-handler': { handle },
    'wasi:http/types': {
      Fields,
      FutureIncomingResponse,
      FutureTrailers,
      IncomingBody,
      IncomingRequest: Unserved,
      IncomingResponse,
      OutgoingBody,
      OutgoingRequest: Request,
      OutgoingResponse: Unserved,
      RequestOptions,
      ResponseOutparam: Unserved,
      httpErrorCode: (error: unknown) =>
        error instanceof IoError && typeof error.code === 'object' ? error.code : undefined,
    },
  };
}

function requestHead(request: OutgoingRequest, options: RequestOptions | undefined): RequestHead {
  const method = request.method();
  const scheme = request.scheme();
  return {
    method: method.tag === 'other' ? (method.val ?? '') : method.tag.toUpperCase(),
    scheme: (scheme?.tag === 'other' ? scheme.val : (scheme?.tag ?? 'HTTPS')).toLowerCase(),
    authority: request.authority() ?? '',
    pathWithQuery: request.pathWithQuery() ?? '',
    headers: request.entries(),
    connectTimeoutMs: milliseconds(options?.connectTimeout()),
    firstByteTimeoutMs: milliseconds(options?.firstByteTimeout()),
    betweenBytesTimeoutMs: milliseconds(options?.betweenBytesTimeout()),
  };
}
