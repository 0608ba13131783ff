// @ts-check
// Measures the memory of a capsule that waits.
import { setTimeout as delay } from 'node:timers/promises';

import { startBareServer } from './support/bare-process.mjs';
import { createWorkspace, startCapsule } from './support/capsule.mjs';
import { residentKilobytes } from './support/resident-memory.mjs';
import { alternate } from './support/rounds.mjs';

const settleMs = 1500;

/** Resident memory of a capsule that waits for its first message, against a bare server that waits for its first request. */
/** @type {import('./support/row.mjs').Row} */
export const idleMemory = {
  name: 'idle-memory',
  goal: { atMost: 1.3 },
  unit: 'times',
  async measure() {
    const workspace = await createWorkspace();
    try {
      const { subject, floor } = await alternate({
        rounds: 9,
        subject: async () => settledMegabytes(await startCapsule(workspace)),
        floor: async () => settledMegabytes(await startBareServer('{}')),
      });
      return {
        subject: `waiting capsule ${subject.toFixed(1)} MB`,
        floor: `bare node:http ${floor.toFixed(1)} MB`,
        figure: subject / floor,
      };
    } finally {
      await workspace.remove();
    }
  },
};

/** @param {{ pid: number, stop(): Promise<void> }} server */
async function settledMegabytes(server) {
  try {
    await delay(settleMs);
    return (await residentKilobytes(server.pid)) / 1024;
  } finally {
    await server.stop();
  }
}
