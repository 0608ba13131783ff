// @ts-check
import { readFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';

import { startBareServer } from './support/bare-process.mjs';
import { createWorkspace, startCapsule } from './support/capsule.mjs';
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
    const status = await readFile(`/proc/${server.pid}/status`, 'utf8');
    const kilobytes = /^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1];
    if (kilobytes === undefined) throw new Error('the kernel does not say how much memory a process has');
    return Number(kilobytes) / 1024;
  } finally {
    await server.stop();
  }
}
