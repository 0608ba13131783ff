// @ts-check
// Measures one task of one turn, run as scripts run it, with the driver that most people have.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { environment, firstLine, program } from './support/capsule.mjs';
import { manifestOf, serveModel } from './support/model.mjs';
import { alternate } from './support/rounds.mjs';

/** Moments of one run, in milliseconds since its process was started. */
/** @typedef {{ line: number, asked: number, answered: number, ended: number }} Moments */

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
 * @param {(moments: Moments) => number} span
 * @returns {import('./support/row.mjs').Row}
 */
function row(name, atMost, span) {
  return {
    name,
    goal: { atMost },
    unit: 'times',
    async measure() {
      const folder = await mkdtemp(join(tmpdir(), 'svc-bench-'));
      const env = { ...environment, HOME: folder };
      let [asked, answered] = [0, 0];
      const model = await serveModel({
        onAsked: () => (asked = performance.now()),
        reply: () => ({ delta: { content: 'Done.' }, finish: 'stop' }),
        onAnswered: () => (answered = performance.now()),
      });
      const run = async () => {
        const began = performance.now();
        const args = [program, 'run', '--json', '--offline', '--task', 'Go.'];
        const child = spawn(process.execPath, args, { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] });
        const closed = once(child, 'exit');
        await firstLine(child);
        const line = performance.now() - began;
        const [code] = await closed;
        if (code !== 0) throw new Error(`svc run ended with ${code}`);
        return span({ line, asked: asked - began, answered: answered - began, ended: performance.now() - began });
      };
      try {
        await writeFile(join(folder, 'svc.yaml'), manifestOf(model.port, 1));
        const { subject, floor, ratio } = await alternate({ rounds: 21, subject: run, floor: () => bareStartMs(env) });
        return {
          subject: `svc run --json --task ${subject.toFixed(0)} ms`,
          floor: `node -e 0 ${floor.toFixed(0)} ms`,
          figure: ratio,
        };
      } finally {
        model.close();
        await rm(folder, { recursive: true, force: true });
      }
    },
  };
}

/** @param {Record<string, string>} env */
async function bareStartMs(env) {
  const began = performance.now();
  await once(spawn(process.execPath, ['-e', '0'], { env, stdio: 'ignore' }), 'exit');
  return performance.now() - began;
}
