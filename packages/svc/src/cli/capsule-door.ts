import { request, type IncomingMessage } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';

import type { DoorOptions, Http, HttpRequest, HttpResponse } from '@svc/client/http-door.ts';
import { errorCode } from '@svc/kit/diagnostics/system-reason.ts';
import { responseOf } from '@svc/kit/net/response-of.ts';

/** Waits between attempts right after a capsule's port is bound (D1 "Command line" 4). */
const backOffMs = [50, 100, 200, 400];
/** A host that vanished sends no word; the kernel asks it. Silence of a busy capsule is no reason to go (D1 "Heartbeat"). */
const keepAliveMs = 30_000;
/** What listens there may never stop answering. */
const mostAnswerBytes = 4 * 1024 * 1024;

export interface CapsuleDoor {
  /** `host:port` */
  readonly address: string;
  /** Sent as a bearer token when the capsule requires one (`SVC_LISTENER_TOKEN`). */
  readonly token?: string | undefined;
  /** For a whole answer; without it one is waited for for ever, and what comes of it too. */
  readonly timeoutMs?: number;
}

type Wait = (ms: number) => Promise<unknown>;

/** How a command asks a capsule: on connections of their own, which are tried again while the port is not there yet. */
export function doorOf({ address, token, timeoutMs: ms = Number.POSITIVE_INFINITY }: CapsuleDoor): DoorOptions {
  const limits = { callMs: ms, idleMs: ms, mostAnswerBytes };
  return { url: address, token, limits, fetch: ownConnections(address) };
}

/** `fetch` on a connection of its own for each request. Rejects with the error of the connection. */
export function ownConnections(address: string, wait: Wait = delay): Http {
  return async (url, asked) => {
    const path = url.slice(url.indexOf('/', 'http://'.length));
    for (const waitMs of [...backOffMs, null]) {
      try {
        return responseFrom(await send(address, path, asked));
      } catch (error) {
        if (errorCode(error) !== 'ECONNREFUSED' || waitMs === null) throw error;
        await wait(waitMs);
      }
    }
    throw new Error('the last attempt returns or throws');
  };
}

function send(address: string, path: string, { method, headers, body, signal }: HttpRequest): Promise<IncomingMessage> {
  const colon = address.lastIndexOf(':');
  const length = body === undefined ? {} : { 'content-length': Buffer.byteLength(body) };
  const outgoing = request({
    host: address.slice(0, colon).replace(/^\[|\]$/g, ''),
    port: Number(address.slice(colon + 1)),
    method,
    path,
    agent: false,
    signal,
    headers: { ...headers, ...length },
  });
  const response = responseOf(outgoing);
  outgoing.end(body);
  return response;
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
