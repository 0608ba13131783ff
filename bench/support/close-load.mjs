// @ts-check
// Counts how many requests a server answers when each has a connection of its own.
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

import { cProgram } from './c-program.mjs';
import { environment } from './capsule.mjs';
import { processorMs } from './processor-time.mjs';

/** @typedef {{ port: number, connections: number, requests: number, request: string }} Load `request` is whole, and asks for the end of its connection. */

/**
 * @param {Load} load
 * @returns {Promise<number>}
 */
export async function closedPerSecond(load) {
  const { elapsedUs, cpuUs } = await send(load);
  const busy = cpuUs / elapsedUs;
  if (busy > 0.98) throw new Error(`the client was the bottleneck: busy for ${(busy * 100).toFixed(0)} % of the time`);
  return (load.requests / elapsedUs) * 1_000_000;
}

/**
 * How many requests the server answers in a second of its processor time, which a busy client does not change.
 * @param {number} pid
 * @param {Load} load
 * @returns {Promise<number>}
 */
export async function closedPerProcessorSecond(pid, load) {
  const before = await processorMs(pid);
  await send(load);
  return (load.requests / ((await processorMs(pid)) - before)) * 1000;
}

/**
 * @param {Load} load
 * @returns {Promise<{ elapsedUs: number, cpuUs: number }>}
 */
async function send({ port, connections, requests, request }) {
  const args = [port, connections, requests].map(String);
  const { stdout } = await promisify(execFile)(await cProgram('close-client'), [...args, request], {
    env: environment,
  });
  return JSON.parse(stdout);
}
