// @ts-check
// Watches event streams with a client that is written in C.
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';

import { cProgram } from './c-program.mjs';
import { environment } from './capsule.mjs';

/**
 * What the client counted. Times are microseconds; latencies run from a frame's publication to the read that brought it.
 * @typedef {{ frames: number, complete: number, disordered: number, elapsedUs: number, cpuUs: number, p50Us: number, p99Us: number }} Counted
 *
 * @typedef {object} Watching
 * @property {number} port
 * @property {string} request What each connection sends, whole.
 * @property {number} watchers
 * @property {number} frames Awaited by each watcher; 0 holds the connections until `end`.
 * @property {number} [restUs] Between two looks at the sockets; more makes a cheaper client that says nothing about latency.
 * @property {number} [stalled] Further connections that are opened first and never read.
 * @property {() => Promise<unknown>} [onStalled] Called when those are open and before any watcher is.
 */

/**
 * Opens watchers in a process of its own; resolves when each has the head of its stream. `counted` rejects when the client
 * says that something went wrong; `end` has it stop waiting.
 * @param {Watching} watching
 * @returns {Promise<{ counted: Promise<Counted>, end(): Promise<void> }>}
 */
export async function openWatchers({ port, request, watchers, frames, restUs = 0, stalled = 0, onStalled }) {
  const args = [port, watchers, stalled, frames, restUs, silenceSeconds].map(String);
  const child = spawn(await cProgram('sse-client'), [...args, request], {
    env: environment,
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  let said = '';
  child.stderr.setEncoding('utf8').on('data', (chunk) => (said += chunk));
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const closed = new Promise((resolve) => child.once('close', resolve));
  const next = async () => {
    const { value, done } = await lines.next();
    if (done !== true) return value;
    await closed;
    throw new Error(`the client ended: ${said.trim() || 'no reason given'}`);
  };
  try {
    if (stalled > 0) {
      await next();
      await onStalled?.();
      child.stdin.write('\n');
    }
    await next();
  } catch (error) {
    child.kill('SIGTERM');
    throw error;
  }
  const counted = next().then((line) => JSON.parse(line));
  // A caller that ends the round early has no use for the count.
  counted.catch(() => undefined);
  return {
    counted,
    async end() {
      child.stdin.end();
      await closed;
    },
  };
}

/** A stream that brings nothing for this long has ended, for the client. */
const silenceSeconds = 10;
