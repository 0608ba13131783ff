// @ts-check
// Starts capsules as a user does, and asks them for something.
import { spawn } from 'node:child_process';
import { copyFile, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { svcDialect } from './dialects.mjs';

/** What is measured, as a user starts it. */
export const program = fileURLToPath(new URL('../../bin/svc.cjs', import.meta.url));

/** The part of a manifest by which a capsule waits for tasks. */
export const waits = 'lifecycle: { task_acceptance: queue, after_task: sleep }\n';

/** Waits for messages and answers each with `done`. */
export const waiting = {
  manifest: `
name: bench
version: 1.0.0
artifacts:
  - { name: svc-driver-script, version: 1.0.0, runtime: driver }
inference:
  driver: { artifact: svc-driver-script, config: { script: script.yaml } }
${waits}`,
  script: `
- content: [{ type: text, text: done }]
  stop_reason: end_turn
`,
};

/** What subjects, floors and peers all run under: nothing that only one of them would pay for, and packages as they are run for good. */
export const environment = { PATH: process.env['PATH'] ?? '', NODE_ENV: 'production' };

/**
 * A folder of its own that is a home as well, empty.
 * @typedef {{ folder: string, env: Record<string, string>, remove: () => Promise<void> }} Home
 * @returns {Promise<Home>}
 */
export async function createHome() {
  const folder = await mkdtemp(join(tmpdir(), 'svc-bench-'));
  const remove = () => rm(folder, { recursive: true, force: true });
  return { folder, env: { ...environment, HOME: folder }, remove };
}

/**
 * A home with a capsule, the command that runs it there and prints one line of JSON, and how it is spoken to. By default the capsule waits
 * for messages and answers each with `done`.
 * @typedef {Home & { command: readonly string[], dialect: import('./dialects.mjs').Dialect }} Workspace
 * @param {{ manifest: string, script?: string }} capsule
 * @returns {Promise<Workspace>}
 */
export async function createWorkspace({ manifest, script } = waiting) {
  const home = await createHome();
  await writeFile(join(home.folder, 'svc.yaml'), manifest);
  if (script !== undefined) await writeFile(join(home.folder, 'script.yaml'), script);
  return { ...home, command: [process.execPath, program, 'run', '--json', '--offline'], dialect: svcDialect };
}

/**
 * A copy of Node in this folder, whose file no other program on the machine shares with what runs there: that would make its part of it smaller.
 * @param {string} folder
 * @returns {Promise<string>} Its path.
 */
export async function ownNode(folder) {
  const node = join(folder, 'node');
  await copyFile(process.execPath, node);
  return node;
}

/**
 * A running capsule, once it has said where it listens. `startedInMs` runs from the start of the process to that line.
 * @typedef {{ pid: number, port: number, dialect: import('./dialects.mjs').Dialect, startedInMs: number, stop(): Promise<void> }} Capsule
 * @param {Workspace} workspace
 * @returns {Promise<Capsule>}
 */
export async function startCapsule({ folder, env, command: [file = '', ...args], dialect }) {
  const began = performance.now();
  const child = spawn(file, args, { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] });
  const line = await firstLine(child);
  const startedInMs = performance.now() - began;
  const { url, pid } = JSON.parse(line);
  return { pid, port: Number(url.split(':').at(-1)), dialect, startedInMs, stop: () => end(child) };
}

/**
 * The first line a child writes; rejects with what it said on stderr when it ends without one.
 * @param {import('node:child_process').ChildProcess} child Its standard output and standard error are pipes.
 * @returns {Promise<string>}
 */
export function firstLine(child) {
  return new Promise((resolve, reject) => {
    let out = '';
    let err = '';
    child.stderr?.setEncoding('utf8').on('data', (chunk) => (err += chunk));
    child.stdout?.setEncoding('utf8').on('data', (chunk) => {
      out += chunk;
      const end = out.indexOf('\n');
      if (end >= 0) resolve(out.slice(0, end));
    });
    child.once('error', reject);
    child.once('close', (code) =>
      reject(new Error(`ended with ${code} before its first line: ${err.trim() || 'no reason given'}`)),
    );
  });
}

/** @param {import('node:child_process').ChildProcess} child */
export async function end(child) {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGTERM');
  await exited;
}
