import { Readable } from 'node:stream';
import type { ReadableStream } from 'node:stream/web';

import type { Reply } from '@svc/kit/http/reply.ts';
import type { HttpRequest } from '@svc/kit/http/route.ts';

/** A request of the kit in the shape that the protocol's library takes. What it says of hosts and tokens has been checked already. */
export function webRequest({ method, path, headers, body }: HttpRequest): Request {
  const kept = Object.entries(headers).flatMap(([name, value]): [string, string][] =>
    typeof value === 'string' && isOfProtocol(name) ? [[name, value]] : [],
  );
  return new Request(`http://127.0.0.1${path}`, { method, headers: kept, body });
}

function isOfProtocol(name: string): boolean {
  return name === 'accept' || name === 'content-type' || name.startsWith('mcp-');
}

/** The library's answer for the kit. A client that leaves ends the stream behind it. */
export async function webReply(response: Response): Promise<Reply> {
  const { status } = response;
  const contentType = response.headers.get('content-type');
  if (response.body === null || contentType === null) return { kind: 'empty', status };
  if (!contentType.startsWith('text/event-stream')) {
    return { kind: 'bytes', status, contentType, bytes: new Uint8Array(await response.arrayBuffer()) };
  }
  const source = Readable.fromWeb(response.body as ReadableStream<Uint8Array>);
  return { kind: 'readable', status, headers: { 'cache-control': 'no-cache' }, contentType, length: null, source };
}
