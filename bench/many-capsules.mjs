// @ts-check
// Measures capsules that have done their first task: what memory they keep, and how long many of them take at once.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

import { startBareServer } from './support/bare-process.mjs';
import { createWorkspace, end, environment, startCapsule } from './support/capsule.mjs';
import { manifestOf, serveModel } from './support/model.mjs';
import { anonymousKilobytes } from './support/resident-memory.mjs';
import { alternate } from './support/rounds.mjs';
import { sendTask } from './support/rpc-load.mjs';

const bare = fileURLToPath(new URL('support/bare-turns.mjs', import.meta.url));
const many = 50;
const rounds = 9;
/** As long as a garbage collection or the start of a process ahead of its need may take. */
const settleMs = 1500;

const lifecycle = 'lifecycle: { task_acceptance: queue, after_task: sleep }';
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
        subject: async () => (await firstTasks({ count: 1, rest, calls })).megabytes,
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
 * @param {(taken: Taken) => number} figureOf
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
        subject: async () => figureOf(await firstTasks({ count: many, rest: '', calls: [] })),
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

/** @typedef {{ tookMs: number, megabytes: number }} Taken Until the model has sent its last byte to the last of them; what they have in memory afterwards. */

/**
 * @param {{ count: number, rest: string, calls: readonly { name: string, arguments: string }[] }} options
 * @returns {Promise<Taken>}
 */
async function firstTasks({ count, rest, calls }) {
  const answers = count * (calls.length + 1);
  return await withModel({ answers, calls }, async (port, answered) => {
    const workspace = await createWorkspace({
      manifest: `${manifestOf(port, calls.length + 1)}${lifecycle}\n${rest}\n`,
      script: '',
    });
    /** @type {import('./support/capsule.mjs').Capsule[]} */
    const capsules = [];
    try {
      for (let started = 0; started < count; started += 1) capsules.push(await startCapsule(workspace));
      return await taken(
        capsules.map(({ pid }) => pid),
        async () => {
          await Promise.all(capsules.map((capsule) => sendTask(capsule.port)));
          await answered;
        },
      );
    } finally {
      await Promise.all(capsules.map((capsule) => capsule.stop()));
      await workspace.remove();
    }
  });
}

/** @returns {Promise<Taken>} */
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

/**
 * @param {readonly number[]} processes
 * @param {() => Promise<void>} work
 * @returns {Promise<Taken>}
 */
async function taken(processes, work) {
  const began = performance.now();
  await work();
  const tookMs = performance.now() - began;
  await delay(settleMs);
  const kilobytes = await Promise.all(processes.map(anonymousKilobytes));
  return { tookMs, megabytes: kilobytes.reduce((sum, each) => sum + each, 0) / 1024 };
}

/**
 * A model that makes these calls, one a turn, and then ends; `answered` settles with the last of so many answers.
 * @template T
 * @param {{ answers: number, calls: readonly { name: string, arguments: string }[] }} options
 * @param {(port: number, answered: Promise<unknown>) => Promise<T>} use
 */
async function withModel({ answers, calls }, use) {
  let [asked, left] = [0, answers];
  /** @type {(value: null) => void} */
  let settle = () => {};
  const answered = new Promise((resolve) => {
    settle = resolve;
  });
  const model = await serveModel({
    onAsked: () => {},
    reply: () => {
      const call = calls[asked++];
      if (call === undefined) return { delta: { content: 'Done.' }, finish: 'stop' };
      const toolCalls = [{ index: 0, id: `call_${asked}`, type: 'function', function: call }];
      return { delta: { tool_calls: toolCalls }, finish: 'tool_calls' };
    },
    onAnswered: () => {
      left -= 1;
      if (left === 0) settle(null);
    },
  });
  try {
    return await use(model.port, answered);
  } finally {
    model.close();
  }
}
