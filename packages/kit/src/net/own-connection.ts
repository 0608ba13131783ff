/** Gives the client library connections of its own in place of `fetch`, which bounds no silence. */

import type { IncomingMessage } from 'node:http';

import type { HttpRequest, HttpResponse } from '@svc/client/http-door.ts';
import { responseOf, startRequest } from './connections.ts';

/** A host that vanished sends no word; the kernel asks it. Silence of a busy capsule is no reason to go (D1 "Heartbeat"). */
const keepAliveMs = 30_000;

/** What stands for `fetch`: each request has a connection of its own. Rejects with the error of that connection. */
export async function ownConnection(
  url: string,
  { method, headers, body, signal }: HttpRequest,
): Promise<HttpResponse> {
  const length = body === undefined ? {} : { 'content-length': Buffer.byteLength(body) };
  const outgoing = startRequest(new URL(url), { method, signal, headers: { ...headers, ...length } });
  const response = responseOf(outgoing);
  outgoing.end(body);
  return responseFrom(await response);
}

function responseFrom(response: IncomingMessage): HttpResponse {
  response.socket.setKeepAlive(true, keepAliveMs);
  const pieces = response[Symbol.asyncIterator]() as AsyncIterator<Uint8Array, undefined>;
  return {
    status: response.statusCode ?? 0,
    headers: { get: (name) => [response.headers[name] ?? null].flat()[0] ?? null },
    body: {
      getReader: () => ({
        read: async () => {
          const { done = false, value } = await pieces.next();
          return { done, value };
        },
        cancel: async () => response.destroy(),
      }),
    },
  };
}
