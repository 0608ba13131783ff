// @ts-check
// Measures capsules that have done their first task: what memory they keep, and how long many of them take at once.
import { fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

import { startBareServer } from './support/bare-process.mjs';
import { createHome, createWorkspace, end, environment, firstLine, ownNode, waits } from './support/capsule.mjs';
import { firstTasks, settleMs, taken, withModel } from './support/first-tasks.mjs';
import { manifestOf } from './support/model.mjs';
import { anonymousKilobytes, proportionalKilobytes } from './support/resident-memory.mjs';
import { alternate } from './support/rounds.mjs';

const bare = fileURLToPath(new URL('support/bare-turns.mjs', import.meta.url));
/** For a Node that holds an instance of a module with a page of memory. */
const holding = `new WebAssembly.Instance(new WebAssembly.Module(Buffer.from('0061736d010000000503010001', 'hex')));
setInterval(() => 0, 2 ** 30); console.log('{}');`;
const many = 50;
const rounds = 9;

const driverAlone = { rest: '', calls: [] };
const withTools = {
  rest: 'artifacts: [{ name: svc-tool-editor, version: 1.0.0 }]\ncapabilities: { shell: { allow: [bash] } }',
  calls: [
    { name: 'svc-tool-editor', arguments: JSON.stringify({ command: 'write', path: 'a.txt', content: 'a' }) },
    { name: 'bash', arguments: JSON.stringify({ command: 'true' }) },
  ],
};

/** @type {readonly import('./support/row.mjs').Row[]} */
export const manyCapsules = [
  memoryRow('memory-after-task', 3.3, driverAlone),
  memoryRow('memory-after-tools', 5.3, withTools),
  memoryRow('memory-after-task-asked', 1.4, driverAlone, 'bare node that has asked'),
  memoryRow('memory-after-tools-asked', 1.8, withTools, 'the same, and one that holds a module'),
  fleetRow('first-tasks-50', 5, 'ms', ({ tookMs }) => tookMs),
  fleetRow('first-tasks-50-memory', 2.5, 'MB', ({ megabytes }) => megabytes),
];

/** @param {string} rest Of the manifest. */
function waitingWith(rest) {
  return (/** @type {number} */ port) => createWorkspace({ manifest: `${manifestOf(port, 9)}${waits}${rest}\n` });
}

/**
 * What a capsule and its processes have in memory once its first task has ended. What is of no file, against a bare server of HTTP; or with their part of the
 * files that they share, against a bare Node that has asked the same model, and one that holds an instance of WebAssembly where the capsule has a component.
 * @param {string} name
 * @param {number} atMost
 * @param {{ rest: string, calls: readonly { name: string, arguments: string }[] }} capsule Each of `calls` is a turn.
 * @param {string} [asked]
 * @returns {import('./support/row.mjs').Row}
 */
function memoryRow(name, atMost, { rest, calls }, asked) {
  const kilobytesOf = asked === undefined ? anonymousKilobytes : proportionalKilobytes;
  return {
    name,
    goal: { atMost },
    unit: 'times',
    async measure() {
      const { folder, remove } = await createHome();
      try {
        const node = await ownNode(folder);
        const create = async (/** @type {number} */ port) => {
          const workspace = await waitingWith(rest)(port);
          return { ...workspace, command: [node, ...workspace.command.slice(1)] };
        };
        const questions = { count: 1, node, hasModule: calls.length > 0, kilobytesOf };
        const { subject, floor } = await alternate({
          rounds,
          subject: async () => (await firstTasks({ count: 1, calls, create, kilobytesOf })).megabytes,
          floor: asked === undefined ? serverMegabytes : async () => (await bareQuestions(questions)).megabytes,
        });
        return {
          subject: `capsule ${subject.toFixed(1)} MB`,
          floor: `${asked ?? 'bare node:http'} ${floor.toFixed(1)} MB`,
          figure: subject / floor,
        };
      } finally {
        await remove();
      }
    },
  };
}

async function serverMegabytes() {
  const server = await startBareServer('{}');
  await (await fetch(`http://127.0.0.1:${server.port}/`)).text();
  await delay(settleMs);
  const kilobytes = await anonymousKilobytes(server.pid);
  await server.stop();
  return kilobytes / 1024;
}

/**
 * 50 capsules that are given their first task at once, against as many Node processes that ask the same model once and do nothing else.
 * @param {string} name
 * @param {number} atMost
 * @param {string} unit
 * @param {(taken: import('./support/first-tasks.mjs').Taken) => number} figureOf
 * @returns {import('./support/row.mjs').Row}
 */
function fleetRow(name, atMost, unit, figureOf) {
  return {
    name,
    goal: { atMost },
    unit: 'times',
    async measure() {
      const { subject, floor, ratio } = await alternate({
        rounds,
        subject: async () => figureOf(await firstTasks({ count: many, calls: [], create: waitingWith('') })),
        floor: async () => figureOf(await bareQuestions({ count: many })),
      });
      return {
        subject: `50 capsules ${subject.toFixed(0)} ${unit}`,
        floor: `50 bare clients ${floor.toFixed(0)} ${unit}`,
        figure: ratio,
      };
    },
  };
}

/**
 * @param {{ count: number, node?: string, hasModule?: boolean, kilobytesOf?: import('./support/first-tasks.mjs').KilobytesOf }} options
 * @returns {Promise<import('./support/first-tasks.mjs').Taken>}
 */
async function bareQuestions({ count, node = process.execPath, hasModule = false, kilobytesOf }) {
  return await withModel({ answers: count, calls: [] }, async (port, answered) => {
    const options = { env: environment, execArgv: [], execPath: node };
    const clients = Array.from({ length: count }, () => fork(bare, [String(port)], options));
    const others = hasModule ? [spawn(node, ['-e', holding], { env: environment, stdio: 'pipe' })] : [];
    try {
      await Promise.all(others.map(firstLine));
      await Promise.all(clients.map((client) => once(client, 'message')));
      return await taken(
        [...clients, ...others].map(({ pid = 0 }) => pid),
        async () => {
          for (const client of clients) client.send(1);
          await answered;
        },
        kilobytesOf,
      );
    } finally {
      await Promise.all([...clients, ...others].map(end));
    }
  });
}
