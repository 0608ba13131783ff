// @ts-check
import { execFile } from 'node:child_process';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import { startBareServer } from './support/bare-process.mjs';
import { createWorkspace, environment, startCapsule } from './support/capsule.mjs';
import { alternate } from './support/rounds.mjs';

const client = fileURLToPath(new URL('support/load-client.mjs', import.meta.url));
const load = { connections: 64, warmUpMs: 300, measureMs: 1200 };

/** `tasks/get` of a task that ended, on 64 connections, against a bare server that answers with the same bytes. */
/** @type {import('./support/row.mjs').Row} */
export const jsonRpc = {
  name: 'json-rpc',
  goal: { atLeast: 0.85 },
  unit: 'times',
  async measure() {
    const workspace = await createWorkspace();
    const capsule = await startCapsule(workspace);
    try {
      const { requestBody, responseBody } = await completedTask(capsule.port);
      const bare = await startBareServer(responseBody);
      try {
        const { subject, floor } = await alternate({
          rounds: 9,
          subject: () => requestsPerSecond(capsule.port, requestBody),
          floor: () => requestsPerSecond(bare.port, requestBody),
        });
        return {
          subject: `tasks/get ${(subject / 1000).toFixed(1)}k/s`,
          floor: `bare node:http ${(floor / 1000).toFixed(1)}k/s`,
          figure: subject / floor,
        };
      } finally {
        await bare.stop();
      }
    } finally {
      await capsule.stop();
      await workspace.remove();
    }
  },
};

/**
 * Gives the capsule a task and waits for its end; the question and the answer are then the same for ever.
 * @param {number} port
 */
async function completedTask(port) {
  const parts = [{ text: 'say done' }];
  const sent = await post(port, rpc('message/send', { message: { messageId: 'm1', role: 'user', parts } }));
  const requestBody = rpc('tasks/get', { id: JSON.parse(sent).result.id });
  for (let attempt = 0; attempt < 200; attempt += 1) {
    const responseBody = await post(port, requestBody);
    const { state } = JSON.parse(responseBody).result.status;
    if (state === 'completed') return { requestBody, responseBody };
    if (state === 'failed') throw new Error(`the task failed: ${responseBody}`);
    await delay(50);
  }
  throw new Error('the task did not end');
}

/**
 * @param {string} method
 * @param {unknown} params
 */
function rpc(method, params) {
  return JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
}

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
 * @param {string} body
 */
async function requestsPerSecond(port, body) {
  const request = [
    'POST / HTTP/1.1',
    `Host: 127.0.0.1:${port}`,
    'Content-Type: application/json',
    `Content-Length: ${Buffer.byteLength(body)}`,
    '',
    body,
  ].join('\r\n');
  const { stdout } = await promisify(execFile)(process.execPath, [client, JSON.stringify({ ...load, port, request })], {
    env: environment,
  });
  const { perSecond, busy } = JSON.parse(stdout);
  if (busy > 0.95) throw new Error(`the client was the bottleneck: busy for ${(busy * 100).toFixed(0)} % of the time`);
  return perSecond;
}
