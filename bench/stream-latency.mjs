// @ts-check
// Measures how late the frames of a stream arrive.
import { alternate } from './support/rounds.mjs';
import { playRound, startNetBroadcast, startSvcStream } from './support/stream-server.mjs';

const rounds = 11;

/** From the publication of a frame to the read that brings it, the slowest of a hundred, against plain sockets that broadcast the same bytes. */
/** @type {import('./support/row.mjs').Row} */
export const streamP99 = {
  name: 'stream-p99',
  goal: { atMost: 1 },
  unit: 'times',
  async measure() {
    const round = { watchers: 100, perSecond: 500, frames: 750 };
    const svc = await startSvcStream();
    const net = await startNetBroadcast();
    try {
      const { subject, floor } = await alternate({
        rounds,
        subject: () => p99Us(svc, round),
        floor: () => p99Us(net, round),
      });
      return {
        subject: `event stream ${subject.toFixed(0)} µs`,
        floor: `plain net ${floor.toFixed(0)} µs`,
        figure: subject / floor,
      };
    } finally {
      await Promise.all([svc.stop(), net.stop()]);
    }
  },
};

/** The same for 999 watchers with one more that has stopped reading, against the same without it. The rate leaves the server mostly idle. */
/** @type {import('./support/row.mjs').Row} */
export const streamStalled = {
  name: 'stream-stalled',
  goal: { atMost: 1.2 },
  unit: 'times',
  async measure() {
    const round = { watchers: 999, perSecond: 50, frames: 60 };
    const svc = await startSvcStream();
    try {
      const { subject, floor } = await alternate({
        rounds,
        subject: () => p99Us(svc, { ...round, stalled: 1 }),
        floor: () => p99Us(svc, round),
      });
      return {
        subject: `one of 1,000 stalled ${subject.toFixed(0)} µs`,
        floor: `none stalled ${floor.toFixed(0)} µs`,
        figure: subject / floor,
      };
    } finally {
      await svc.stop();
    }
  },
};

/**
 * @param {import('./support/stream-server.mjs').StreamServer} server
 * @param {import('./support/stream-server.mjs').Round} round
 */
async function p99Us(server, round) {
  return (await playRound(server, round)).p99Us;
}
