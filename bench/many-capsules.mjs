// @ts-check
// Measures capsules that have done their first task: what memory they keep, and how long many of them take at once.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

import { startBareServer } from './support/bare-process.mjs';
import { createWorkspace, end, environment, waits } from './support/capsule.mjs';
import { firstTasks, settleMs, taken, withModel } from './support/first-tasks.mjs';
import { manifestOf } from './support/model.mjs';
import { anonymousKilobytes } from './support/resident-memory.mjs';
import { alternate } from './support/rounds.mjs';

const bare = fileURLToPath(new URL('support/bare-turns.mjs', import.meta.url));
const many = 50;
const rounds = 9;

const tools = 'artifacts: [{ name: svc-tool-editor, version: 1.0.0 }]\ncapabilities: { shell: { allow: [bash] } }';

/** @type {readonly import('./support/row.mjs').Row[]} */
export const manyCapsules = [
  memoryRow('memory-after-task', 3.3, { rest: '', calls: [] }),
  memoryRow('memory-after-tools', 5.3, {
    rest: tools,
    calls: [
      { name: 'svc-tool-editor', arguments: JSON.stringify({ command: 'write', path: 'a.txt', content: 'a' }) },
      { name: 'bash', arguments: JSON.stringify({ command: 'true' }) },
    ],
  }),
  fleetRow('first-tasks-50', 5, 'ms', ({ tookMs }) => tookMs),
  fleetRow('first-tasks-50-memory', 2.5, 'MB', ({ megabytes }) => megabytes),
];

/** @param {string} rest Of the manifest. */
function waitingWith(rest) {
  return (/** @type {number} */ port) => createWorkspace({ manifest: `${manifestOf(port, 9)}${waits}${rest}\n` });
}

/**
 * What a capsule and its processes have in memory that is of no file, once its first task has ended, against a bare server of HTTP. Of the file of Node, each
 * has a share that depends on what else runs.
 * @param {string} name
 * @param {number} atMost
 * @param {{ rest: string, calls: readonly { name: string, arguments: string }[] }} capsule Each of `calls` is a turn.
 * @returns {import('./support/row.mjs').Row}
 */
function memoryRow(name, atMost, { rest, calls }) {
  return {
    name,
    goal: { atMost },
    unit: 'times',
    async measure() {
      const { subject, floor } = await alternate({
        rounds,
        subject: async () => (await firstTasks({ count: 1, calls, create: waitingWith(rest) })).megabytes,
        floor: async () => {
          const server = await startBareServer('{}');
          await (await fetch(`http://127.0.0.1:${server.port}/`)).text();
          await delay(settleMs);
          const kilobytes = await anonymousKilobytes(server.pid);
          await server.stop();
          return kilobytes / 1024;
        },
      });
      return {
        subject: `capsule ${subject.toFixed(1)} MB`,
        floor: `bare node:http ${floor.toFixed(1)} MB`,
        figure: subject / floor,
      };
    },
  };
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
        floor: async () => figureOf(await bareQuestions()),
      });
      return {
        subject: `50 capsules ${subject.toFixed(0)} ${unit}`,
        floor: `50 bare clients ${floor.toFixed(0)} ${unit}`,
        figure: ratio,
      };
    },
  };
}

/** @returns {Promise<import('./support/first-tasks.mjs').Taken>} */
async function bareQuestions() {
  return await withModel({ answers: many, calls: [] }, async (port, answered) => {
    const clients = Array.from({ length: many }, () => fork(bare, [String(port)], { env: environment, execArgv: [] }));
    try {
      await Promise.all(clients.map((client) => once(client, 'message')));
      return await taken(
        clients.map(({ pid = 0 }) => pid),
        async () => {
          for (const client of clients) client.send(1);
          await answered;
        },
      );
    } finally {
      await Promise.all(clients.map(end));
    }
  });
}
