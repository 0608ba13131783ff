// @ts-check
// Measures one task of one turn, run as scripts run it, with the driver that most people have.
import { fileURLToPath } from 'node:url';

import { bareListenMs, bareStartMs } from './support/bare-process.mjs';
import { createHome, createWorkspace, environment } from './support/capsule.mjs';
import { svcDialect } from './support/dialects.mjs';
import { manifestOf } from './support/model.mjs';
import { openRuns } from './support/one-run.mjs';
import { alternate } from './support/rounds.mjs';

const bareRun = fileURLToPath(new URL('./support/bare-run.mjs', import.meta.url));

/**
 * `svc run --json --task` against a Node that does nothing; the line also against one that reads as much code from a cache, listens and prints a line. The
 * last two rows begin when the model has sent its last byte. The floor of the last one is a Node that asks the same model, keeps the answer in a file that
 * is synced, and ends.
 * @type {readonly import('./support/row.mjs').Row[]}
 */
export const oneTask = [
  row('task-line', 1.4, ({ line }) => line),
  row('task-line-loaded', 1.3, ({ line }) => line, { name: 'bare node:http with the code', ms: bareListenMs }),
  row('task-first-request', 3.2, ({ asked }) => asked),
  row('task-whole', 3.8, ({ ended }) => ended),
  row('task-end', 0.42, endOf),
  {
    name: 'task-end-synced',
    goal: { atMost: 2 },
    unit: 'times',
    async measure() {
      const runs = await openRuns((port) => createWorkspace({ manifest: manifestOf(port, 1) }));
      const bare = await openRuns(async (port) => ({
        ...(await createHome()),
        command: [process.execPath, bareRun, String(port)],
        dialect: svcDialect,
      }));
      try {
        const { subject, floor, ratio } = await alternate({
          rounds: 21,
          subject: async () => endOf(await runs.run()),
          floor: async () => endOf(await bare.run()),
        });
        return {
          subject: `svc run --json --task ${subject.toFixed(1)} ms`,
          floor: `bare node, one sync ${floor.toFixed(1)} ms`,
          figure: ratio,
        };
      } finally {
        await Promise.all([runs.close(), bare.close()]);
      }
    },
  },
];

/** @param {import('./support/one-run.mjs').Moments} moments */
function endOf({ answered, ended }) {
  return ended - answered;
}

/**
 * @param {string} name
 * @param {number} atMost
 * @param {(moments: import('./support/one-run.mjs').Moments) => number} span
 * @param {{ name: string, ms: (env: Record<string, string>) => Promise<number> }} [bare]
 * @returns {import('./support/row.mjs').Row}
 */
function row(name, atMost, span, bare = { name: 'node -e 0', ms: bareStartMs }) {
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
          floor: () => bare.ms({ ...environment, HOME: runs.folder }),
        });
        return {
          subject: `svc run --json --task ${subject.toFixed(0)} ms`,
          floor: `${bare.name} ${floor.toFixed(0)} ms`,
          figure: ratio,
        };
      } finally {
        await runs.close();
      }
    },
  };
}
