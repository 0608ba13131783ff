// @ts-check
// Starts referees, with the registry that they look into.
import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

import { bundleSubject, loadSubject } from './bundle.mjs';
import { end, environment, firstLine } from './capsule.mjs';

/** @typedef {typeof import('./referee-capsules.ts')} Capsules */

/** Files younger than this are read again at each request, since a change to them could not be seen. */
const settledAfterMs = 2100;
const unbounded = '1000000000';

/**
 * A registry with the capsules of the benchmark, in a temporary folder, its files old enough.
 * @returns {Promise<{ root: string, capsules: Capsules, remove(): Promise<void> }>}
 */
export async function createRegistry() {
  const root = await mkdtemp(join(tmpdir(), 'svc-bench-'));
  const capsules = /** @type {Capsules} */ (await loadSubject('referee-capsules.ts'));
  await capsules.publishCapsules(root);
  await delay(settledAfterMs);
  return { root, capsules, remove: () => rm(root, { recursive: true }) };
}

/**
 * `svc-referee` in a process of its own, which lets in whatever the benchmark registers. With `tokens: 'constant'` it seals and
 * checks none, and is the same otherwise.
 * @param {string} root
 * @param {{ tokens: 'sealed' | 'constant' }} options
 * @returns {Promise<{ port: number, stop(): Promise<void> }>}
 */
export async function startReferee(root, { tokens }) {
  const constant = fileURLToPath(new URL('constant-tokens.ts', import.meta.url));
  const bundle = await bundleSubject('referee-program.ts', tokens === 'constant' ? { './tokens.ts': constant } : {});
  const bounds = ['--max-depth', '3', '--max-concurrent', unbounded, '--max-live-capsules', unbounded];
  const child = spawn(
    process.execPath,
    [bundle.path, '--port', '0', '--registry-path', root, '--spawn-allow', 'lead', ...bounds],
    { env: environment, stdio: ['ignore', 'pipe', 'pipe'] },
  );
  try {
    const port = Number(/127\.0\.0\.1:(\d+)/.exec(await firstLine(child))?.[1]);
    return { port, stop: () => end(child) };
  } finally {
    await bundle.remove();
  }
}
