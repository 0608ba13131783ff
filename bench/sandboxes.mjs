// @ts-check
// Measures the program that contains one command against programs of others.
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import { createHome } from './support/capsule.mjs';
import { startLaunchProcess } from './support/launch-processes.mjs';
import { alternate } from './support/rounds.mjs';
import { codex, sandboxRuntime, sandlock } from './support/sandboxes.mjs';

const program = fileURLToPath(new URL('../bin/svc-sandbox.cjs', import.meta.url));
const rounds = 21;
const launches = 25;

/** The program for each command. What it keeps is there. */
/** @type {readonly import('./support/row.mjs').Row[]} */
export const sandboxCommands = [
  commandRow('sandbox-command', 1.75, async (_, env) => ({
    name: 'node -e 0',
    file: process.execPath,
    args: ['-e', '0'],
    env,
  })),
  ...[codex, sandboxRuntime].map((sandbox) =>
    commandRow(sandbox.row, 0.9, async (workdir) => {
      await sandbox.bring();
      return { name: sandbox.name, ...(await sandbox.command(workdir)) };
    }),
  ),
];

/** A command in a session in the class that asks the same of the kernel, both started by the library of a process that lives on. */
/** @type {import('./support/row.mjs').Row} */
export const containedSandlock = {
  name: sandlock.row,
  goal: { atMost: 0.5 },
  unit: 'times',
  async measure() {
    const { folder, remove } = await createHome();
    const other = await sandlock.start(folder);
    const launching = await startLaunchProcess({ wanted: 'scoped', megabytes: 0 });
    try {
      const { subject, floor, ratio } = await alternate({
        rounds,
        subject: () => launching.contained(launches),
        floor: () => other.meanMs(launches),
      });
      return {
        subject: `scoped ${subject.toFixed(2)} ms`,
        floor: `sandlock ${floor.toFixed(2)} ms`,
        figure: ratio,
      };
    } finally {
      await Promise.all([launching.stop(), other.stop()]);
      await remove();
    }
  },
};

/**
 * `svc-sandbox -- true` against another command.
 * @param {string} name
 * @param {number} atMost
 * @param {(workdir: string, env: Record<string, string>) => Promise<import('./support/sandboxes.mjs').Command & { name: string }>} floorOf
 * @returns {import('./support/row.mjs').Row}
 */
function commandRow(name, atMost, floorOf) {
  return {
    name,
    goal: { atMost },
    unit: 'times',
    async measure() {
      const { folder, env, remove } = await createHome();
      /** @param {import('./support/sandboxes.mjs').Command} command */
      const ended = async ({ file, args, env }) => {
        const began = performance.now();
        await promisify(execFile)(file, args, { cwd: folder, env });
        return performance.now() - began;
      };
      try {
        const other = await floorOf(folder, env);
        const own = { file: process.execPath, args: [program, '--', 'true'], env };
        const { subject, floor, ratio } = await alternate({
          rounds,
          subject: () => ended(own),
          floor: () => ended(other),
        });
        return {
          subject: `svc-sandbox -- true ${subject.toFixed(0)} ms`,
          floor: `${other.name} ${floor.toFixed(0)} ms`,
          figure: ratio,
        };
      } finally {
        await remove();
      }
    },
  };
}
