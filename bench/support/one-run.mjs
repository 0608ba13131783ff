// @ts-check
// Runs a task of one turn as scripts run one, and says when what happened.
import { spawn } from 'node:child_process';
import { once } from 'node:events';

import { firstLine } from './capsule.mjs';
import { done, serveModel } from './model.mjs';
import { waitedMs } from './processor-time.mjs';

/**
 * Moments of one run, in milliseconds since its process was started, and the processor time of all its processes.
 * @typedef {{ line: number, asked: number, answered: number, ended: number, cpuMs: number }} Moments
 */

/**
 * A capsule in a workspace that is made for the model's port, run as often as wanted.
 * @param {(port: number) => Promise<import('./capsule.mjs').Workspace>} create
 * @returns {Promise<{ folder: string, run: (args?: readonly string[]) => Promise<Moments>, close: () => Promise<void> }>}
 */
export async function openRuns(create) {
  let [asked, answered] = [0, 0];
  const model = await serveModel({
    onAsked: () => (asked = performance.now()),
    reply: () => done,
    onAnswered: () => (answered = performance.now()),
  });
  const { folder, env, command, remove } = await create(model.port);
  const [file = '', ...fixed] = command;
  return {
    folder,
    async run(args = []) {
      const waited = await waitedMs(process.pid);
      const began = performance.now();
      const child = spawn(file, [...fixed, '--task', 'Go.', ...args], {
        cwd: folder,
        env,
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      const closed = once(child, 'exit');
      await firstLine(child);
      const line = performance.now() - began;
      const [code] = await closed;
      const ended = performance.now() - began;
      if (code !== 0) throw new Error(`${file} ended with ${code}`);
      const cpuMs = (await waitedMs(process.pid)) - waited;
      return { line, asked: asked - began, answered: answered - began, ended, cpuMs };
    },
    async close() {
      model.close();
      await remove();
    },
  };
}
