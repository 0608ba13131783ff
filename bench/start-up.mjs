// @ts-check
// Measures how soon a capsule listens.
import { bareListenMs, bareStartMs } from './support/bare-process.mjs';
import { createWorkspace, startCapsule } from './support/capsule.mjs';
import { alternate } from './support/rounds.mjs';

/**
 * From the start of the process to the line that says where the capsule listens, against a Node that does nothing, and one that reads as much code, listens
 * and prints a line.
 * @type {readonly import('./support/row.mjs').Row[]}
 */
export const startUp = [
  { name: 'start-up', atMost: 1.6, bare: 'node -e 0', bareMs: bareStartMs },
  { name: 'start-up-loaded', atMost: 1.3, bare: 'bare node:http with the code', bareMs: bareListenMs },
].map(({ name, atMost, bare, bareMs }) => ({
  name,
  goal: { atMost },
  unit: 'times',
  async measure() {
    const workspace = await createWorkspace();
    try {
      const { subject, floor } = await alternate({
        rounds: 21,
        subject: async () => {
          const capsule = await startCapsule(workspace);
          await capsule.stop();
          return capsule.startedInMs;
        },
        floor: () => bareMs(workspace.env),
      });
      return {
        subject: `svc run --json ${subject.toFixed(0)} ms`,
        floor: `${bare} ${floor.toFixed(0)} ms`,
        figure: subject / floor,
      };
    } finally {
      await workspace.remove();
    }
  },
}));
