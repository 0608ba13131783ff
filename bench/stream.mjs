// @ts-check
// Measures how many frames a capsule delivers against plain sockets.
import { alternate } from './support/rounds.mjs';
import { playRound, startNetBroadcast, startSvcStream } from './support/stream-server.mjs';

/** Frames delivered per second to all watchers together, as fast as the slowest takes them, against plain sockets that broadcast the same bytes. */
/** @type {readonly import('./support/row.mjs').Row[]} */
export const streamRows = [
  streamRow({ watchers: 1, frames: 400_000, restUs: 200, atLeast: 0.9 }),
  streamRow({ watchers: 100, frames: 20_000, restUs: 1000, atLeast: 0.97 }),
  streamRow({ watchers: 1000, frames: 2000, restUs: 2000, atLeast: 0.95 }),
];

/**
 * @param {import('./support/stream-server.mjs').Round & { atLeast: number }} options
 * @returns {import('./support/row.mjs').Row}
 */
function streamRow({ atLeast, ...round }) {
  return {
    name: `stream-${round.watchers}`,
    goal: { atLeast },
    unit: 'times',
    async measure() {
      const svc = await startSvcStream();
      const net = await startNetBroadcast();
      try {
        const { subject, floor } = await alternate({
          rounds: 15,
          subject: () => framesPerSecond(svc, round),
          floor: () => framesPerSecond(net, round),
        });
        return {
          subject: `event stream ${(subject / 1000).toFixed(0)}k frames/s`,
          floor: `plain net ${(floor / 1000).toFixed(0)}k frames/s`,
          figure: subject / floor,
        };
      } finally {
        await Promise.all([svc.stop(), net.stop()]);
      }
    },
  };
}

/**
 * @param {import('./support/stream-server.mjs').StreamServer} server
 * @param {import('./support/stream-server.mjs').Round} round
 */
export async function framesPerSecond(server, round) {
  const { frames, elapsedUs } = await playRound(server, round);
  return frames / (elapsedUs / 1e6);
}
