// @ts-check
// Requests of JSON-RPC: their bytes, one of them, and as many as a server answers on 64 connections.
import { execFile } from 'node:child_process';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import { environment } from './capsule.mjs';

const client = fileURLToPath(new URL('load-client.mjs', import.meta.url));
const load = { connections: 64, warmUpMs: 300, measureMs: 1200 };

/**
 * @param {string} method
 * @param {unknown} params
 */
export function rpc(method, params) {
  return JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
}

/**
 * A request as it goes over the wire.
 * @param {{ path?: string, host?: string, headers?: readonly string[] }} head `headers` are whole lines.
 * @param {string} body
 */
export function postBytes({ path = '/', host = '127.0.0.1', headers = [] }, body) {
  return [
    `POST ${path} HTTP/1.1`,
    `Host: ${host}`,
    ...headers,
    'Content-Type: application/json',
    `Content-Length: ${Buffer.byteLength(body)}`,
    '',
    body,
  ].join('\r\n');
}

/**
 * Gives the capsule a task and waits for its end; the question and the answer are then the same for ever.
 * @param {number} port
 */
export async function completedTask(port) {
  const id = await sendTask(port);
  const requestBody = rpc('tasks/get', { id });
  for (let attempt = 0; attempt < 200; attempt += 1) {
    const responseBody = await post(port, requestBody);
    const { state } = JSON.parse(responseBody).result.status;
    if (state === 'completed') return { id, requestBody, responseBody };
    if (state === 'failed') throw new Error(`the task failed: ${responseBody}`);
    await delay(50);
  }
  throw new Error('the task did not end');
}

/**
 * Gives the capsule a task, which begins.
 * @param {number} port
 * @returns {Promise<string>} Its id.
 */
export async function sendTask(port) {
  const parts = [{ text: 'say done' }];
  const messageId = `m${(messages += 1)}`;
  return JSON.parse(await post(port, rpc('message/send', { message: { messageId, role: 'user', parts } }))).result.id;
}

let messages = 0;

/**
 * @param {number} port
 * @param {string} body
 */
async function post(port, body) {
  const response = await fetch(`http://127.0.0.1:${port}/`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body,
  });
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
