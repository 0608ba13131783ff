// @ts-check
// Measures one task of one turn, run as scripts run it, with the driver that most people have.
import { bareStartMs } from './support/bare-process.mjs';
import { createWorkspace, environment } from './support/capsule.mjs';
import { manifestOf } from './support/model.mjs';
import { openRuns } from './support/one-run.mjs';
import { alternate } from './support/rounds.mjs';

/** `svc run --json --task` against a Node that does nothing. The last row begins when the model has sent its last byte. */
/** @type {readonly import('./support/row.mjs').Row[]} */
export const oneTask = [
  row('task-line', 1.4, ({ line }) => line),
  row('task-first-request', 3.2, ({ asked }) => asked),
  row('task-whole', 3.8, ({ ended }) => ended),
  row('task-end', 0.42, ({ answered, ended }) => ended - answered),
];

/**
 * @param {string} name
 * @param {number} atMost
 * @param {(moments: import('./support/one-run.mjs').Moments) => number} span
 * @returns {import('./support/row.mjs').Row}
 */
function row(name, atMost, span) {
  return {
    name,
    goal: { atMost },
    unit: 'times',
    async measure() {
      const runs = await openRuns((port) => createWorkspace({ manifest: manifestOf(port, 1) }));
      try {
        const { subject, floor, ratio } = await alternate({
          rounds: 21,
          subject: async () => span(await runs.run()),
          floor: () => bareStartMs({ ...environment, HOME: runs.folder }),
        });
        return {
          subject: `svc run --json --task ${subject.toFixed(0)} ms`,
          floor: `node -e 0 ${floor.toFixed(0)} ms`,
          figure: ratio,
        };
      } finally {
        await runs.close();
      }
    },
  };
}
