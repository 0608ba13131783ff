/** Carries bytes between two sockets, and cuts one when the other is cut. */

import type { Socket } from 'node:net';

export interface TunnelEnds {
  readonly client: Socket;
  /** What the client had sent before the tunnel stood. */
  readonly early: Buffer;
  readonly upstream: Socket;
}

/**
 * Carries bytes both ways, each way no faster than its reader, until both ways have ended. The end of one way is passed on
 * alone; a reset or any other break resets the other side, so that a cut never looks like an end. Settles when both are closed.
 */
export async function tunnel({ client, early, upstream }: TunnelEnds): Promise<void> {
  const closed = Promise.all([closeOf(client), closeOf(upstream)]);
  passBreak(client, upstream);
  passBreak(upstream, client);
  if (early.length > 0) upstream.write(early);
  client.pipe(upstream);
  upstream.pipe(client);
  await closed;
}

function passBreak(from: Socket, to: Socket): void {
  const pass = (): void => {
    if (from.readableEnded && from.writableFinished) return;
    breakOff(to);
  };
  if (from.destroyed) pass();
  else from.once('close', pass);
}

function closeOf(socket: Socket): Promise<void> {
  return new Promise((resolve) => {
    if (socket.closed) resolve();
    else socket.once('close', () => resolve());
  });
}

/** Cuts a TCP connection with a reset and nothing before it, so that its peer cannot take the cut for an end. */
export function breakOff(socket: Socket): void {
  if (socket.destroyed) return;
  if (socket.writableEnded && !socket.writableFinished) {
    // The end is on its way, and a reset is refused until it has been sent.
    socket.destroy();
    return;
  }
  socket.resetAndDestroy();
}
