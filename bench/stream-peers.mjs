// @ts-check
import { fileURLToPath } from 'node:url';

import { framesPerSecond } from './stream.mjs';
import { installPeers } from './support/peers.mjs';
import { alternate } from './support/rounds.mjs';
import { startStreamServer, startSvcStream } from './support/stream-server.mjs';

const watchers = 100;
const restUs = 1000;

/** Chunks of text delivered per second to 100 watchers, against a library for event streams that broadcasts the same payload. */
/** @type {import('./support/row.mjs').Row} */
export const streamBetterSse = {
  name: 'stream-better-sse',
  goal: { atLeast: 6 },
  unit: 'times',
  async measure() {
    await installPeers();
    const request = ['GET / HTTP/1.1', 'Host: 127.0.0.1', 'Accept: text/event-stream', '', ''].join('\r\n');
    return againstPeer({
      label: 'better-sse',
      program: 'better-sse-server.mjs',
      frames: 2500,
      request: async () => request,
    });
  },
};

/** The same against the server of the A2A protocol's own SDK, whose watchers have subscribed to one task. */
/** @type {import('./support/row.mjs').Row} */
export const streamA2a = {
  name: 'stream-a2a',
  goal: { atLeast: 13 },
  unit: 'times',
  async measure() {
    await installPeers();
    return againstPeer({ label: '@a2a-js/sdk', program: 'a2a-server.mjs', frames: 1000, request: newTaskRequest });
  },
};

/**
 * Starts a task of its own for the round, through the peer's own door.
 * @param {number} port
 * @returns {Promise<string>} What a watcher of that task sends.
 */
async function newTaskRequest(port) {
  const message = { messageId: 'm1', role: 'ROLE_USER', parts: [{ text: 'go' }] };
  const params = { message, configuration: { returnImmediately: true } };
  const response = await fetch(`http://127.0.0.1:${port}/`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'a2a-version': '1.0', connection: 'close' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'SendMessage', params }),
  });
  const answer = await response.text();
  const taskId = JSON.parse(answer).result?.task?.id;
  if (typeof taskId !== 'string') throw new Error(`the peer started no task: ${answer}`);
  return subscribeRequest(taskId);
}

/** @param {string} taskId */
function subscribeRequest(taskId) {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'SubscribeToTask', params: { id: taskId } });
  return [
    'POST / HTTP/1.1',
    'Host: 127.0.0.1',
    'Accept: text/event-stream',
    'A2A-Version: 1.0',
    'Content-Type: application/json',
    `Content-Length: ${Buffer.byteLength(body)}`,
    '',
    body,
  ].join('\r\n');
}

/**
 * @param {object} peer
 * @param {string} peer.label
 * @param {string} peer.program File name in `support`.
 * @param {number} peer.frames Of a round: a slower server needs fewer for a round of the same length.
 * @param {(port: number) => Promise<string>} peer.request What a watcher sends in the coming round.
 * @returns {Promise<import('./support/row.mjs').Measured>}
 */
async function againstPeer({ label, program, frames, request }) {
  const server = await startStreamServer(fileURLToPath(new URL(`support/${program}`, import.meta.url)), '');
  const svc = await startSvcStream();
  try {
    const { subject, floor } = await alternate({
      rounds: 15,
      subject: () => framesPerSecond(svc, { watchers, frames: 20_000, restUs }),
      floor: async () => {
        const peer = { ...server, request: await request(server.port) };
        return framesPerSecond(peer, { watchers, frames, restUs });
      },
    });
    return {
      subject: `event stream ${(subject / 1000).toFixed(0)}k frames/s`,
      floor: `${label} ${(floor / 1000).toFixed(0)}k frames/s`,
      figure: subject / floor,
    };
  } finally {
    await Promise.all([svc.stop(), server.stop()]);
  }
}
