import type { Socket } from 'node:net';

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
