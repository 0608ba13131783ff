/** Answers clients that have ended their half of a connection, and finds out which of them read on and which have left. */

import type { ServerResponse } from 'node:http';
import type { Server, Socket } from 'node:net';

import type { WaitingClient } from './route.ts';

/** How long such a client may wait for an answer: it may have left, and nothing says so before something is written. */
const maxWaitMs = 10 * 60 * 1000;

/** Node would end the other half too, and lose every answer that is not made yet. `server` is one of HTTP; it keeps its half for ten minutes at the most. */
export function answerHalfClosed(server: Server): void {
  Object.assign(server, { httpAllowHalfOpen: true });
  server.on('connection', (socket: Socket) => {
    socket.on('end', waitAtMost);
  });
}

/** One for all connections, which comes once for each: every idle connection would keep its own. */
function waitAtMost(this: Socket): void {
  const timer = setTimeout(() => this.destroy(), maxWaitMs).unref();
  this.once('close', () => clearTimeout(timer));
}

/** Milliseconds after the end. A closed client answers with RST, which the next write sees. */
const probesAtMs = [0, 100, 1_000, 5_000];

const oftenAnsweredMs = 1_000;

/** The client that waits for a response. */
export function waitingClient(response: ServerResponse): WaitingClient {
  return {
    isGone: () => response.destroyed,
    ended: () =>
      new Promise((resolve) => {
        const { socket } = response.req;
        const wait = (): void => void setTimeout(() => resolve('ended'), oftenAnsweredMs).unref();
        response.once('close', () => socket.off('end', wait));
        if (socket.readableEnded) wait();
        else socket.once('end', wait);
      }),
  };
}

/** Says nothing to who reads a stream of events. */
export const emptyComment = ':\n\n';

/**
 * Calls `probe` a few times once the client of an unfinished stream has ended its half. It writes what means nothing to a client that reads on; the
 * connection of one that has left breaks of it.
 */
export function probeHalfClosed(response: ServerResponse, probe: () => void): void {
  const { socket } = response.req;
  const timers: NodeJS.Timeout[] = [];
  const begin = (): void => {
    for (const ms of probesAtMs) timers.push(setTimeout(probe, ms).unref());
  };
  response.once('close', () => {
    socket.off('end', begin);
    for (const timer of timers) clearTimeout(timer);
  });
  if (socket.readableEnded) begin();
  else socket.once('end', begin);
}
