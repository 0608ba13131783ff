/** Carries requests and answers between this server and libraries that speak in the classes of the web, `Request` and `Response`. */

import { Readable } from 'node:stream';
import type { ReadableStream } from 'node:stream/web';

import type { Reply } from './reply.ts';
import type { RequestHead } from './route.ts';

/**
 * A request in the shape that such a library takes, with the headers that `isWanted` names and no other. What the request says of hosts and tokens has
 * been checked already, so its address is always one of loopback. Without a `body` it has none.
 */
export function webRequest(
  { method, path, headers }: RequestHead,
  isWanted: (header: string) => boolean,
  body?: Uint8Array,
): Request {
  const kept = Object.entries(headers).flatMap(([name, value]): [string, string][] =>
    typeof value === 'string' && isWanted(name) ? [[name, value]] : [],
  );
  return new Request(`http://127.0.0.1${path}`, {
    method,
    headers: kept,
    ...(body === undefined ? {} : { body: body as Uint8Array<ArrayBuffer> }),
  });
}

/**
 * The library's answer for the kit, with the headers that `keeps` names beside its type. A client that leaves ends the stream behind an answer that is a stream of events.
 */
export async function webReply(response: Response, keeps: readonly string[] = []): Promise<Reply> {
  const { status } = response;
  const contentType = response.headers.get('content-type');
  const headers: Record<string, string> = {};
  for (const name of keeps) {
    const value = response.headers.get(name);
    if (value !== null) headers[name] = value;
  }
  if (response.body === null || contentType === null) return { kind: 'empty', status, headers };
  if (!contentType.startsWith('text/event-stream')) {
    return { kind: 'bytes', status, headers, contentType, bytes: new Uint8Array(await response.arrayBuffer()) };
  }
  const source = Readable.fromWeb(response.body as ReadableStream<Uint8Array>);
  headers['cache-control'] = 'no-cache';
  return { kind: 'readable', status, headers, contentType, length: null, source };
}
