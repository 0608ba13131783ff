/** Tells a client that has ended its half of a connection and reads on from one that has left. */

import type { ServerResponse } from 'node:http';

/** Milliseconds after the end. The system of a client that has left refuses what reaches it, which is heard of with what is written next. */
const probesAtMs = [0, 100, 1_000, 5_000];

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
