// @ts-check
// Asks capsules: gives them a task, and as many requests as they answer on 64 connections.
import { execFile } from 'node:child_process';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import { environment } from './capsule.mjs';

const client = fileURLToPath(new URL('load-client.mjs', import.meta.url));
const load = { connections: 64, warmUpMs: 300, measureMs: 1200 };

/** @typedef {Pick<import('./capsule.mjs').Capsule, 'port' | 'dialect'>} Asked */

/**
 * Gives the capsule a task and waits for its end; the question and the answer are then the same for ever.
 * @param {Asked} capsule
 */
export async function completedTask(capsule) {
  const id = await sendTask(capsule);
  const requestBody = capsule.dialect.get(id);
  for (let attempt = 0; attempt < 200; attempt += 1) {
    const responseBody = await post(capsule, requestBody);
    const { state } = capsule.dialect.taskOf(JSON.parse(responseBody).result).status;
    if (/completed$/i.test(state)) return { id, requestBody, responseBody };
    if (/failed$/i.test(state)) throw new Error(`the task failed: ${responseBody}`);
    await delay(50);
  }
  throw new Error('the task did not end');
}

/**
 * Gives the capsule a task, which begins.
 * @param {Asked} capsule
 * @returns {Promise<string>} Its id.
 */
export async function sendTask(capsule) {
  const message = { messageId: `m${(messages += 1)}`, parts: [{ text: 'say done' }] };
  const answer = await post(capsule, capsule.dialect.send(message));
  const { result } = JSON.parse(answer);
  if (result === undefined) throw new Error(`the task was refused: ${answer}`);
  return capsule.dialect.taskOf(result).id;
}

let messages = 0;

/**
 * @param {Asked} capsule
 * @param {string} body
 */
async function post({ port, dialect }, body) {
  const headers = { 'content-type': 'application/json', ...dialect.headers };
  const response = await fetch(`http://127.0.0.1:${port}/`, { method: 'POST', headers, body });
  return response.text();
}

/**
 * @param {number} port
 * @param {string} request As `postBytes` makes it.
 * @param {{ warmUpMs?: number, measureMs?: number }} [times]
 */
export async function requestsPerSecond(port, request, times = {}) {
  const order = JSON.stringify({ ...load, ...times, port, request });
  const { stdout } = await promisify(execFile)(process.execPath, [client, order], { env: environment });
  const { perSecond, busy } = JSON.parse(stdout);
  if (busy > 0.95) throw new Error(`the client was the bottleneck: busy for ${(busy * 100).toFixed(0)} % of the time`);
  return perSecond;
}
