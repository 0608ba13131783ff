// @ts-check
// Measures how soon a capsule listens.
import { bareStartMs } from './support/bare-process.mjs';
import { createWorkspace, startCapsule } from './support/capsule.mjs';
import { alternate } from './support/rounds.mjs';

/** From the start of the process to the line that says where the capsule listens, against a Node that does nothing. */
/** @type {import('./support/row.mjs').Row} */
export const startUp = {
  name: 'start-up',
  goal: { atMost: 1.6 },
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
        floor: () => bareStartMs(workspace.env),
      });
      return {
        subject: `svc run --json ${subject.toFixed(0)} ms`,
        floor: `node -e 0 ${floor.toFixed(0)} ms`,
        figure: subject / floor,
      };
    } finally {
      await workspace.remove();
    }
  },
};
