// @ts-check
// Measures the program that contains one command against programs of others.
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

import { createHome, end, firstLine } from './support/capsule.mjs';
import { commandMs, openPlan, startLaunchProcess } from './support/launch-processes.mjs';
import { alternate } from './support/rounds.mjs';
import { codex, sandboxRuntime, sandlock } from './support/sandboxes.mjs';

const program = fileURLToPath(new URL('../bin/svc-sandbox.cjs', import.meta.url));
/** For a Node that starts the words behind it, with its descriptors 3 and 4, and ends with them. */
const starting = `const [file, ...args] = process.argv.slice(1);
require('node:child_process').spawn(file, args, { stdio: ['ignore', 'inherit', 'inherit', 3, 4] }).once('exit', process.exit);`;
const rounds = 21;
const launches = 25;

/** The program for each command. What it keeps is there. The last two are against the helper that carries out its plan. */
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
  commandRow('sandbox-helper', 1.5, helperFrom('bare node', [process.execPath, '-e', starting])),
  commandRow('sandbox-helper-shell', 10, helperFrom('shell', ['sh', '-c', '"$@"', 'sh'])),
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
 * The helper, which a bare program starts with the plan of `svc-sandbox -- cat`, as one that waits has made it. Its `cat` finds nothing to read.
 * @param {string} from
 * @param {readonly string[]} starter Starts the words behind it.
 * @returns {FloorOf}
 */
function helperFrom(from, starter) {
  return async (cwd, env) => {
    const waiting = spawn(process.execPath, [program, '--', 'cat'], { cwd, env, stdio: 'pipe' });
    waiting.stdin.write('started\n');
    await firstLine(waiting);
    const { descriptors, command } = openPlan(waiting.pid ?? 0);
    const [file = '', ...args] = [...starter, ...command('/usr/bin/cat')];
    const close = () => end(waiting);
    return { name: `helper from a ${from}`, file, args, env, descriptors, close };
  };
}

/**
 * `svc-sandbox -- true` against another command.
 * @typedef {import('./support/sandboxes.mjs').Command & { name: string, descriptors?: readonly number[], close?: () => Promise<void> }} Floor
 * @typedef {(workdir: string, env: Record<string, string>) => Promise<Floor>} FloorOf
 * @param {string} name
 * @param {number} atMost
 * @param {FloorOf} floorOf
 * @returns {import('./support/row.mjs').Row}
 */
function commandRow(name, atMost, floorOf) {
  return {
    name,
    goal: { atMost },
    unit: 'times',
    async measure() {
      const { folder, env, remove } = await createHome();
      /** @param {Pick<Floor, 'file' | 'args' | 'env' | 'descriptors'>} command */
      const ended = ({ file, args, ...rest }) => commandMs([file, ...args], { cwd: folder, ...rest });
      /** @type {Floor | null} */
      let other = null;
      try {
        const floorCommand = (other = await floorOf(folder, env));
        const own = { file: process.execPath, args: [program, '--', 'true'], env };
        const { subject, floor, ratio } = await alternate({
          rounds,
          subject: () => ended(own),
          floor: () => ended(floorCommand),
        });
        return {
          subject: `svc-sandbox -- true ${subject.toFixed(0)} ms`,
          floor: `${other.name} ${floor.toFixed(0)} ms`,
          figure: ratio,
        };
      } finally {
        await other?.close?.();
        await remove();
      }
    },
  };
}
