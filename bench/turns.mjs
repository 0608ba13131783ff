// @ts-check
// Measures turns of a capsule with the driver that most people have, and what streaming an answer costs.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

import { createWorkspace, end, environment, startCapsule } from './support/capsule.mjs';
import { manifestOf, serveModel } from './support/model.mjs';
import { processorMs } from './support/processor-time.mjs';
import { alternate, median } from './support/rounds.mjs';
import { sendTask } from './support/rpc-load.mjs';
import { openWatchers } from './support/sse-client.mjs';
import { watchRequest } from './support/stream-server.mjs';

const bare = fileURLToPath(new URL('support/bare-turns.mjs', import.meta.url));
/** The turns of one task; the first ones are not counted. */
const [turns, uncounted] = [60, 10];
const rounds = 9;
/** The wait behind an answer, so that its end is counted with its deltas. */
const settleMs = 200;

/**
 * A turn with one call of a component, and a delta of an answer on its way to one watcher; against a Node process that asks the same model and reads
 * its answer, and does nothing else.
 * @type {readonly import('./support/row.mjs').Row[]}
 */
export const turnRows = [
  row('component-turn', 5, 'ms', (bench) => ({
    subject: async () => (await bench.turn()).tookMs,
    floor: async () => (await bench.bare(turns)).tookMs,
  })),
  row('component-turn-cpu', 5, 'ms CPU', (bench) => ({
    subject: async () => (await bench.turn()).cpuMs,
    floor: async () => (await bench.bare(turns)).cpuMs / turns,
  })),
  row('delta-paced', 1.4, 'µs CPU', (bench) => deltas(bench, { times: 500, everyMs: 1 })),
  row('delta-flooded', 7, 'µs CPU', (bench) => deltas(bench, { times: 20_000 })),
];

/**
 * @param {TurnBench} bench
 * @param {{ times: number, everyMs?: number }} pace
 */
function deltas(bench, pace) {
  const each = (/** @type {number} */ cpuMs) => (cpuMs * 1000) / pace.times;
  return {
    subject: async () => each(await bench.streamed(pace)),
    floor: async () => each((await bench.bare(1, pace)).cpuMs),
  };
}

/**
 * @param {string} name
 * @param {number} atMost
 * @param {string} unit
 * @param {(bench: TurnBench) => { subject: () => Promise<number>, floor: () => Promise<number> }} pair
 * @returns {import('./support/row.mjs').Row}
 */
function row(name, atMost, unit, pair) {
  return {
    name,
    goal: { atMost },
    unit: 'times',
    async measure() {
      const bench = await TurnBench.open();
      try {
        const { subject, floor, ratio } = await alternate({ rounds, ...pair(bench) });
        return {
          subject: `capsule ${subject.toFixed(2)} ${unit}`,
          floor: `bare node:http ${floor.toFixed(2)} ${unit}`,
          figure: ratio,
        };
      } finally {
        await bench.close();
      }
    },
  };
}

/** What the model does with the next requests. */
/** @typedef {{ onAsked: () => void, reply: () => import('./support/model.mjs').Reply, onAnswered: () => void }} Behaviour */

/** A capsule, a model and a bare client of it, each living from round to round. */
class TurnBench {
  /**
   * @param {{ capsule: import('./support/capsule.mjs').Capsule, client: import('node:child_process').ChildProcess, model: Behaviour, close: () => Promise<void> }} parts
   */
  constructor({ capsule, client, model, close }) {
    this.capsule = capsule;
    this.client = client;
    this.model = model;
    this.close = close;
  }

  static async open() {
    /** @type {Behaviour} */
    const behaviour = { onAsked: () => {}, reply: () => ({ delta: {}, finish: 'stop' }), onAnswered: () => {} };
    const model = await serveModel({
      onAsked: () => behaviour.onAsked(),
      reply: () => behaviour.reply(),
      onAnswered: () => behaviour.onAnswered(),
    });
    const artifacts = 'artifacts: [{ name: svc-tool-editor, version: 1.0.0 }]';
    const lifecycle = 'lifecycle: { task_acceptance: queue, after_task: sleep }';
    const manifest = `${manifestOf(model.port, turns + 1)}${artifacts}\n${lifecycle}\n`;
    const workspace = await createWorkspace({ manifest, script: '' });
    const capsule = await startCapsule(workspace);
    const client = fork(bare, [String(model.port)], { env: environment, execArgv: [] });
    await once(client, 'message');
    const close = async () => {
      await Promise.all([capsule.stop(), end(client)]);
      model.close();
      await workspace.remove();
    };
    return new TurnBench({ capsule, client, model: behaviour, close });
  }

  /** A task of many turns, each of which writes a file with a component: milliseconds of a turn from the model's last byte to the next whole request. */
  async turn() {
    const { pid, port } = this.capsule;
    let turn = 0;
    let answeredAt = 0;
    let [before, after] = [Promise.resolve(0), Promise.resolve(0)];
    /** @type {number[]} */
    const took = [];
    this.model.onAsked = () => {
      if (turn > uncounted) took.push(performance.now() - answeredAt);
      if (turn === uncounted) before = processorMs(pid);
      if (turn === turns) after = processorMs(pid);
    };
    this.model.reply = () => {
      turn += 1;
      if (turn > turns) return { delta: { content: 'Done.' }, finish: 'stop' };
      const input = { command: 'write', path: 'a.txt', content: 'a' };
      const call = { name: 'svc-tool-editor', arguments: JSON.stringify(input) };
      const toolCalls = [{ index: 0, id: `call_${turn}`, type: 'function', function: call }];
      return { delta: { tool_calls: toolCalls }, finish: 'tool_calls' };
    };
    await this.#answered(
      () => sendTask(port),
      () => {
        answeredAt = performance.now();
        return turn > turns;
      },
    );
    return { tookMs: median(took), cpuMs: ((await after) - (await before)) / (turns - uncounted) };
  }

  /**
   * Processor time of the capsule from the beginning of an answer to its end, with one watcher.
   * @param {{ times: number, everyMs?: number }} pace
   */
  async streamed(pace) {
    const { pid, port } = this.capsule;
    const watching = await openWatchers({ port, request: watchRequest, watchers: 1, frames: 0 });
    let before = Promise.resolve(0);
    this.model.onAsked = () => {
      before = processorMs(pid);
    };
    this.model.reply = () => ({ delta: { content: 'word ' }, finish: 'stop', ...pace });
    try {
      await this.#answered(
        () => sendTask(port),
        () => true,
      );
      await delay(settleMs);
      return (await processorMs(pid)) - (await before);
    } finally {
      await watching.end();
    }
  }

  /**
   * The bare client asks so many times.
   * @param {number} times
   * @param {{ times?: number, everyMs?: number }} [pace]
   */
  async bare(times, pace = {}) {
    const { client } = this;
    if (client.pid === undefined) throw new Error('the bare client has no process');
    this.model.onAsked = () => {};
    this.model.reply = () => ({ delta: { content: 'word ' }, finish: 'stop', ...pace });
    const before = await processorMs(client.pid);
    const answer = once(client, 'message');
    client.send(times);
    const [{ took }] = await answer;
    return { tookMs: took, cpuMs: (await processorMs(client.pid)) - before };
  }

  /**
   * Starts a task and waits for the answer of the model that ends it.
   * @param {() => Promise<unknown>} start
   * @param {() => boolean} isLast Called with each answer.
   */
  async #answered(start, isLast) {
    const last = new Promise((resolve) => {
      this.model.onAnswered = () => {
        if (isLast()) resolve(null);
      };
    });
    await start();
    await last;
    await delay(settleMs);
  }
}
