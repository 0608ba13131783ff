// @ts-check
// Starts bare programs to compare with.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

import { end, environment, firstLine } from './capsule.mjs';

const program = fileURLToPath(new URL('bare-server.mjs', import.meta.url));
const bundle = fileURLToPath(new URL('../../dist/svc.cjs', import.meta.url));
export const bareProgram = fileURLToPath(new URL('bare.cjs', import.meta.url));

/**
 * A bare `node:http` server in a process of its own.
 * @param {string} body
 * @returns {Promise<{ pid: number, port: number, stop(): Promise<void> }>}
 */
export async function startBareServer(body) {
  const child = spawn(process.execPath, [program, body], { env: environment, stdio: ['ignore', 'pipe', 'pipe'] });
  const port = Number(await firstLine(child));
  if (child.pid === undefined) throw new Error('the bare server has no process');
  return { pid: child.pid, port, stop: () => end(child) };
}

/**
 * A Node that does nothing, from its start to its end.
 * @param {Record<string, string>} env
 */
export async function bareStartMs(env) {
  const began = performance.now();
  await once(spawn(process.execPath, ['-e', '0'], { env, stdio: 'ignore' }), 'exit');
  return performance.now() - began;
}

/**
 * A Node that reads the code of svc as svc does, and runs none of it, from its start to the line that says where it listens. svc has run before.
 * @param {Record<string, string>} env
 */
export async function bareListenMs(env) {
  const began = performance.now();
  const child = spawn(process.execPath, [bareProgram, 'listen', bundle], { env, stdio: ['ignore', 'pipe', 'pipe'] });
  await firstLine(child);
  const took = performance.now() - began;
  await end(child);
  return took;
}
