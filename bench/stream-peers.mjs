// @ts-check
// Measures how many frames a capsule delivers against libraries of others.
import { fileURLToPath } from 'node:url';

import { framesPerSecond } from './stream.mjs';
import { installPeers } from './support/peers.mjs';
import { alternate } from './support/rounds.mjs';
import { postBytes, rpc } from './support/dialects.mjs';
import { startStreamServer, startSvcStream } from './support/stream-server.mjs';

const watchers = 100;
const restUs = 1000;

/** Chunks of text delivered per second to 100 watchers, against a library for event streams that broadcasts the same payload. */
const betterSse = {
  label: 'better-sse',
  program: 'better-sse-server.mjs',
  frames: 2500,
  request: async () => ['GET / HTTP/1.1', 'Host: 127.0.0.1', 'Accept: text/event-stream', '', ''].join('\r\n'),
};

/** The same against the server of the A2A protocol's own SDK, whose watchers have subscribed to one task. */
export const a2a = { label: '@a2a-js/sdk', program: 'a2a-server.mjs', frames: 1000, request: newTaskRequest };

/**
 * Sixteen events a turn are a model that is faster than its readers: the product sends what one turn brought in one piece, the peers event
 * by event. One event a turn is what a lone model does, and there is nothing to gather.
 * @type {readonly import('./support/row.mjs').Row[]}
 */
export const streamPeers = [
  peerRow('stream-better-sse', { peer: betterSse, burst: 16, svcFrames: 20_000, atLeast: 8 }),
  peerRow('stream-better-sse-single', { peer: betterSse, burst: 1, svcFrames: 5000, atLeast: 1 }),
  peerRow('stream-a2a', { peer: a2a, burst: 16, svcFrames: 20_000, atLeast: 15 }),
  peerRow('stream-a2a-single', { peer: a2a, burst: 1, svcFrames: 5000, atLeast: 1 }),
];

/**
 * @typedef {object} Peer
 * @property {string} label
 * @property {string} program File name in `support`.
 * @property {number} frames Of a round: a slower server needs fewer for a round of the same length.
 * @property {(port: number) => Promise<string>} request What a watcher sends in the coming round.
 *
 * @param {string} name
 * @param {{ peer: Peer, burst: number, svcFrames: number, atLeast: number }} load `burst` events in a turn of the event loop.
 * @returns {import('./support/row.mjs').Row}
 */
function peerRow(name, { peer, burst, svcFrames, atLeast }) {
  return {
    name,
    goal: { atLeast },
    unit: 'times',
    async measure() {
      await installPeers();
      return againstPeer(peer, { burst, svcFrames });
    },
  };
}

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
    body: rpc('SendMessage', params),
  });
  const answer = await response.text();
  const taskId = JSON.parse(answer).result?.task?.id;
  if (typeof taskId !== 'string') throw new Error(`the peer started no task: ${answer}`);
  return subscribeRequest(taskId);
}

/** @param {string} taskId */
function subscribeRequest(taskId) {
  const headers = ['Accept: text/event-stream', 'A2A-Version: 1.0'];
  return postBytes({ headers }, rpc('SubscribeToTask', { id: taskId }));
}

/**
 * @param {Peer} peer
 * @param {{ burst: number, svcFrames: number }} load
 * @returns {Promise<import('./support/row.mjs').Measured>}
 */
async function againstPeer({ label, program, frames, request }, { burst, svcFrames }) {
  const server = await startStreamServer(fileURLToPath(new URL(`support/${program}`, import.meta.url)), '');
  const svc = await startSvcStream();
  try {
    const { subject, floor } = await alternate({
      rounds: 15,
      subject: () => framesPerSecond(svc, { watchers, frames: svcFrames, burst, restUs }),
      floor: async () => {
        const peer = { ...server, request: await request(server.port) };
        return framesPerSecond(peer, { watchers, frames, burst, restUs });
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
