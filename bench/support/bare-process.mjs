// @ts-check
// Starts a bare server of HTTP to compare with.
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

import { end, environment, firstLine } from './capsule.mjs';

const program = fileURLToPath(new URL('bare-server.mjs', import.meta.url));

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
