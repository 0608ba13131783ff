// @ts-check
// Measures the A2A door of a capsule against the capsule's own protocol and against a server of the official library.
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

import { framesPerSecond } from './stream.mjs';
import { a2a as sdk } from './stream-peers.mjs';
import { createWorkspace, startCapsule } from './support/capsule.mjs';
import { postBytes, rpc } from './support/dialects.mjs';
import { installPeers } from './support/peers.mjs';
import { alternate } from './support/rounds.mjs';
import { completedTask, requestsPerSecond } from './support/rpc-load.mjs';
import { startStreamServer, startSvcStream } from './support/stream-server.mjs';

/** As in `support/bench-task.ts`. */
const benchTaskId = 'tsk_01a215246ca272779f752756e5fa6d0f';
/** The times of one measurement of `GetTask`. */
const times = { warmUpMs: 100, measureMs: 400 };
const round = { watchers: 100, frames: 20_000, burst: 16, restUs: 1000 };

/** A2A beside the capsule's own protocol and beside the server of the protocol's own SDK. */
/** @type {readonly import('./support/row.mjs').Row[]} */
export const a2aRows = [
  { name: 'a2a-get-task', goal: { atLeast: 0.8 }, unit: 'times', measure: measureGetTask },
  { name: 'a2a-stream', goal: { atLeast: 0.8 }, unit: 'times', measure: measureStream },
  { name: 'a2a-stream-sdk', goal: { atLeast: 10 }, unit: 'times', measure: measureAgainstSdk },
];

/** `GetTask` of a task that ended, on 64 connections, against `tasks/get` of the same task. */
async function measureGetTask() {
  const workspace = await createWorkspace();
  const capsule = await startCapsule(workspace);
  try {
    const { id, requestBody } = await completedTask(capsule);
    const own = requestTo(capsule.port, '/', requestBody);
    const door = requestTo(capsule.port, '/a2a', rpc('GetTask', { id }));
    const { subject, floor, ratio } = await alternate({
      rounds: 31,
      subject: () => requestsPerSecond(capsule.port, door, times),
      floor: () => requestsPerSecond(capsule.port, own, times),
    });
    return {
      subject: `GetTask ${(subject / 1000).toFixed(1)}k/s`,
      floor: `tasks/get ${(floor / 1000).toFixed(1)}k/s`,
      figure: ratio,
    };
  } finally {
    await capsule.stop();
    await workspace.remove();
  }
}

/** Chunks of text delivered per second to 100 watchers of one task, through `SubscribeToTask` and through `stream/watch`. */
async function measureStream() {
  const [door, own] = [await startDoorStream(), await startSvcStream()];
  try {
    const { subject, floor } = await alternate({
      rounds: 15,
      subject: () => doorRound(door),
      floor: () => framesPerSecond(own, round),
    });
    return compared(subject, `stream/watch ${(floor / 1000).toFixed(0)}k chunks/s`, floor);
  } finally {
    await Promise.all([door.stop(), own.stop()]);
  }
}

/** The same against the server of the SDK, which takes fewer for a round of the same length. */
async function measureAgainstSdk() {
  await installPeers();
  const door = await startDoorStream();
  const server = await startStreamServer(fileURLToPath(new URL(`support/${sdk.program}`, import.meta.url)), '');
  try {
    const { subject, floor } = await alternate({
      rounds: 15,
      subject: () => doorRound(door),
      floor: async () => {
        const peer = { ...server, request: await sdk.request(server.port) };
        return framesPerSecond(peer, { ...round, frames: sdk.frames });
      },
    });
    return compared(subject, `${sdk.label} ${(floor / 1000).toFixed(0)}k chunks/s`, floor);
  } finally {
    await Promise.all([door.stop(), server.stop()]);
  }
}

/**
 * Once the watchers of the round before have gone: what was said to them is then no part of the task any more.
 * @param {import('./support/stream-server.mjs').StreamServer} door
 */
async function doorRound(door) {
  await delay(300);
  return await framesPerSecond(door, round);
}

/**
 * @param {number} subject
 * @param {string} label
 * @param {number} floor
 */
function compared(subject, label, floor) {
  return { subject: `SubscribeToTask ${(subject / 1000).toFixed(0)}k chunks/s`, floor: label, figure: subject / floor };
}

/** The product with watchers that come through its A2A door. */
async function startDoorStream() {
  const server = await startSvcStream();
  return { ...server, request: requestTo(server.port, '/a2a', rpc('SubscribeToTask', { id: benchTaskId })) };
}

/**
 * @param {number} port
 * @param {string} path
 * @param {string} body
 */
function requestTo(port, path, body) {
  return postBytes({ path, host: `127.0.0.1:${port}`, headers: ['A2A-Version: 1.0'] }, body);
}
