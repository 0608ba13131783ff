// @ts-check
// Counts how many requests a server answers when each has a connection of its own.
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

import { cProgram } from './c-program.mjs';
import { environment } from './capsule.mjs';

/**
 * @param {{ port: number, connections: number, requests: number, request: string }} load `request` is whole, and asks for the end of its connection.
 * @returns {Promise<number>}
 */
export async function closedPerSecond({ port, connections, requests, request }) {
  const args = [port, connections, requests].map(String);
  const { stdout } = await promisify(execFile)(await cProgram('close-client'), [...args, request], {
    env: environment,
  });
  const { elapsedUs, cpuUs } = JSON.parse(stdout);
  const busy = cpuUs / elapsedUs;
  if (busy > 0.98) throw new Error(`the client was the bottleneck: busy for ${(busy * 100).toFixed(0)} % of the time`);
  return (requests / elapsedUs) * 1_000_000;
}
