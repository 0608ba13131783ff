// @ts-check
// Measures how costs grow with the work, for the picture in docs/performance.md.
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';

import { callOf } from './long-conversation.mjs';
import { publishMs } from './registry.mjs';
import { createWorkspace, startCapsule, waits } from './support/capsule.mjs';
import { firstTasks } from './support/first-tasks.mjs';
import { done, manifestOf, serveModel } from './support/model.mjs';
import { openRuns } from './support/one-run.mjs';
import { processorMs } from './support/processor-time.mjs';
import { writeVersions } from './support/registry-load.mjs';
import { startSvcRegistry } from './support/registry-servers.mjs';
import { sendTask } from './support/rpc-load.mjs';
import { median } from './support/rounds.mjs';
import { TurnBench } from './support/turn-bench.mjs';
import { fill } from './workdir-first-question.mjs';

/** How often a point is measured; it is the median, or the mean of what the kernel counts in ticks. */
const rounds = 5;
/** @typedef {readonly [x: number, y: number]} Point */

/** Processor time says more than the clock on a machine that does other things. */
/** @returns {Promise<import('./support/plot.mjs').Plot[]>} */
export async function plots() {
  return [
    { title: 'Turns', x: 'turns of one task before it', unit: 'ms of processor time, a turn', points: await ofTurns() },
    { title: 'Watchers', x: 'watchers', unit: 'µs of processor time, a delta to all', points: await ofWatchers() },
    { title: 'Capsules', x: 'capsules after a task', unit: 'MB of memory, together', points: await ofCapsules() },
    { title: 'Files of the workdir', x: 'files', unit: 'ms of processor time, a run', points: await ofFiles() },
    { title: 'Kept sessions', x: 'sessions kept', unit: 'ms of processor time, a run', points: await ofSessions() },
    {
      title: 'Versions',
      x: 'versions of the artifact',
      unit: 'ms of processor time, a publish',
      points: await ofVersions(),
    },
  ];
}

/** One task of 2,000 turns: each point is the mean of the last 250. */
async function ofTurns() {
  const [turns, step] = [2000, 250];
  /** @type {Promise<number>[]} */
  const taken = [];
  let turn = 0;
  let pid = 0;
  /** @type {(value: null) => void} */
  let settle = () => {};
  const ended = new Promise((resolve) => (settle = resolve));
  const model = await serveModel({
    onAsked: () => {
      if (turn % step === 0) taken.push(processorMs(pid));
      turn += 1;
    },
    reply: () => (turn > turns ? done : callOf(turn)),
    onAnswered: () => {
      if (turn > turns) settle(null);
    },
  });
  const workspace = await createWorkspace({ manifest: `${manifestOf(model.port, turns + 1)}${waits}` });
  const capsule = await startCapsule(workspace);
  pid = capsule.pid;
  try {
    await sendTask(capsule);
    await ended;
    const sums = await Promise.all(taken);
    return sums
      .slice(1)
      .map((sum, index) => /** @type {Point} */ ([(index + 1) * step, (sum - (sums[index] ?? 0)) / step]));
  } finally {
    await capsule.stop();
    model.close();
    await workspace.remove();
  }
}

async function ofWatchers() {
  const bench = await TurnBench.open((port) => createWorkspace({ manifest: `${manifestOf(port, 1)}${waits}` }));
  try {
    await bench.deltaUs({ times: 500, everyMs: 1 });
    return await each([1, 50, 100, 250, 500, 1000], (watchers) => bench.deltaUs({ times: 100, everyMs: 20 }, watchers));
  } finally {
    await bench.close();
  }
}

async function ofCapsules() {
  const create = (/** @type {number} */ port) => createWorkspace({ manifest: `${manifestOf(port, 1)}${waits}` });
  return await each(
    [1, 10, 20, 30, 40, 50],
    async (count) => (await firstTasks({ count, calls: [], create })).megabytes,
    1,
  );
}

async function ofFiles() {
  const runs = await openRuns((port) => createWorkspace({ manifest: manifestOf(port, 1) }));
  const counts = [10, 1000, 10_000, 25_000, 50_000, 100_000];
  const folderOf = (/** @type {number} */ count) => join(runs.folder, String(count));
  try {
    for (const count of counts) {
      await mkdir(folderOf(count));
      await fill(folderOf(count), count);
      await runs.run(['--workdir', folderOf(count)]);
    }
    return await each(counts, (count) => meanCpuMs(runs, ['--workdir', folderOf(count)]), 1);
  } finally {
    await runs.close();
  }
}

/** Each run keeps its session in the folder. */
async function ofSessions() {
  const runs = await openRuns((port) => createWorkspace({ manifest: manifestOf(port, 1) }));
  let kept = 0;
  try {
    return await each(
      [20, 40, 60, 80, 100, 120, 140, 160],
      async (count) => {
        for (; kept < count - rounds; kept += 1) await runs.run();
        kept += rounds;
        return await meanCpuMs(runs);
      },
      1,
    );
  } finally {
    await runs.close();
  }
}

async function ofVersions() {
  return await each(
    [1, 250, 500, 1000, 1500, 2000],
    async (count) => {
      const registry = await startSvcRegistry((objects) => writeVersions(objects, count));
      try {
        await publishMs(registry);
        return median([await publishMs(registry), await publishMs(registry), await publishMs(registry)]);
      } finally {
        await registry.stop();
      }
    },
    1,
  );
}

/**
 * @param {Awaited<ReturnType<typeof openRuns>>} runs
 * @param {readonly string[]} [args]
 */
async function meanCpuMs(runs, args) {
  let sum = 0;
  for (let round = 0; round < rounds; round += 1) sum += (await runs.run(args)).cpuMs;
  return sum / rounds;
}

/**
 * @param {readonly number[]} values
 * @param {(value: number) => Promise<number>} measure
 * @param {number} [times]
 */
async function each(values, measure, times = rounds) {
  /** @type {Point[]} */
  const points = [];
  for (const value of values) {
    const taken = [];
    for (let round = 0; round < times; round += 1) taken.push(await measure(value));
    points.push([value, median(taken)]);
  }
  return points;
}
