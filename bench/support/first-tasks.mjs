// @ts-check
// Gives many capsules their first task at once.
import { setTimeout as delay } from 'node:timers/promises';

import { startCapsule } from './capsule.mjs';
import { done, serveModel } from './model.mjs';
import { anonymousKilobytes } from './resident-memory.mjs';
import { sendTask } from './rpc-load.mjs';

/** As long as a garbage collection or the start of a process ahead of its need may take. */
export const settleMs = 1500;

/** @typedef {(pid: number) => Promise<number>} KilobytesOf What of the memory of a process and all that it started counts. */

/** @typedef {{ tookMs: number, megabytes: number }} Taken Until the model has sent its last byte to the last of them; what they have in memory afterwards. */

/**
 * Starts so many capsules and gives them a task at once, each of `calls` a turn of it.
 * @param {{ count: number, calls: readonly { name: string, arguments: string }[], create: (port: number) => Promise<import('./capsule.mjs').Workspace>, kilobytesOf?: KilobytesOf }} options
 * @returns {Promise<Taken>}
 */
export async function firstTasks({ count, calls, create, kilobytesOf }) {
  const answers = count * (calls.length + 1);
  return await withModel({ answers, calls }, async (port, answered) => {
    const workspace = await create(port);
    /** @type {import('./capsule.mjs').Capsule[]} */
    const capsules = [];
    try {
      for (let started = 0; started < count; started += 1) capsules.push(await startCapsule(workspace));
      return await taken(
        capsules.map(({ pid }) => pid),
        async () => {
          await Promise.all(capsules.map((capsule) => sendTask(capsule)));
          await answered;
        },
        kilobytesOf,
      );
    } finally {
      await Promise.all(capsules.map((capsule) => capsule.stop()));
      await workspace.remove();
    }
  });
}

/**
 * @param {readonly number[]} processes
 * @param {() => Promise<void>} work
 * @param {KilobytesOf} [kilobytesOf]
 * @returns {Promise<Taken>}
 */
export async function taken(processes, work, kilobytesOf = anonymousKilobytes) {
  const began = performance.now();
  await work();
  const tookMs = performance.now() - began;
  await delay(settleMs);
  const kilobytes = await Promise.all(processes.map(kilobytesOf));
  return { tookMs, megabytes: kilobytes.reduce((sum, each) => sum + each, 0) / 1024 };
}

/**
 * A model that makes these calls, one a turn, and then ends; `answered` settles with the last of so many answers.
 * @template T
 * @param {{ answers: number, calls: readonly { name: string, arguments: string }[] }} options
 * @param {(port: number, answered: Promise<unknown>) => Promise<T>} use
 */
export async function withModel({ answers, calls }, use) {
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
      if (call === undefined) return done;
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
