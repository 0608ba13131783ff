// @ts-check
// Times turns and streamed deltas of a living capsule, and of a bare client of the same model.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

import { end, environment, startCapsule } from './capsule.mjs';
import { svcDialect } from './dialects.mjs';
import { done, serveModel } from './model.mjs';
import { processorMs } from './processor-time.mjs';
import { median } from './rounds.mjs';
import { sendTask } from './rpc-load.mjs';
import { openWatchers } from './sse-client.mjs';

const bare = fileURLToPath(new URL('bare-turns.mjs', import.meta.url));
/** The turns of one task; the first ones are not counted. */
export const turns = 60;
const uncounted = 10;
/** The wait behind an answer, so that its end is counted with its deltas. */
const settleMs = 200;

/**
 * How an answer comes: so many deltas, one every so many milliseconds or as fast as they are taken.
 * @typedef {{ times: number, everyMs?: number }} Pace
 */
/** @type {Pace} */
export const paced = { times: 500, everyMs: 1 };
/** @type {Pace} */
export const flooded = { times: 20_000 };

/** A call and what stands in its answer. @typedef {{ name: string, arguments: string, answer: string }} Call */

/** What the model does with the next requests. */
class Behaviour {
  /** @type {(text: () => string) => void} */
  onAsked = () => {};
  /** @type {() => import('./model.mjs').Reply} */
  reply = () => ({ delta: {}, finish: 'stop' });
  onAnswered = () => {};

  serve() {
    return serveModel({
      onAsked: (text) => this.onAsked(text),
      reply: () => this.reply(),
      onAnswered: () => this.onAnswered(),
    });
  }
}

/** A capsule and its model, living from round to round. */
export class TurnBench {
  /**
   * @param {{ capsule: import('./capsule.mjs').Capsule, model: Behaviour, close: () => Promise<void> }} parts
   */
  constructor({ capsule, model, close }) {
    this.capsule = capsule;
    this.model = model;
    this.close = close;
  }

  /** @param {(port: number) => Promise<import('./capsule.mjs').Workspace>} create Makes a workspace for a model at this port. */
  static async open(create) {
    const behaviour = new Behaviour();
    const model = await behaviour.serve();
    const workspace = await create(model.port);
    const capsule = await startCapsule(workspace);
    const close = async () => {
      await capsule.stop();
      model.close();
      await workspace.remove();
    };
    return new TurnBench({ capsule, model: behaviour, close });
  }

  /**
   * A task of many turns, each with this call: of a turn the time from the model's last byte to the next whole request, and the processor time.
   * @param {Call} call
   */
  async turn({ answer, ...call }) {
    const { pid } = this.capsule;
    let turn = 0;
    let answeredAt = 0;
    let last = '';
    let [before, after] = [Promise.resolve(0), Promise.resolve(0)];
    /** @type {number[]} */
    const took = [];
    this.model.onAsked = (text) => {
      if (turn > uncounted) took.push(performance.now() - answeredAt);
      if (turn === uncounted) before = processorMs(pid);
      if (turn < turns) return;
      after = processorMs(pid);
      last = text();
    };
    this.model.reply = () => {
      turn += 1;
      if (turn > turns) return done;
      const toolCalls = [{ index: 0, id: `call_${turn}`, type: 'function', function: call }];
      return { delta: { tool_calls: toolCalls }, finish: 'tool_calls' };
    };
    await this.#answered(() => {
      answeredAt = performance.now();
      return turn > turns;
    });
    /** @type {{ messages: { role: string, content: unknown }[] }} */
    const { messages } = JSON.parse(last);
    const said = JSON.stringify(messages.findLast(({ role }) => role === 'tool') ?? null);
    if (!said.includes(answer)) throw new Error(`a call of ${call.name} answered ${said}`);
    return { tookMs: median(took), cpuMs: ((await after) - (await before)) / (turns - uncounted) };
  }

  /**
   * Processor time of the capsule from the beginning of an answer to its end, a delta.
   * @param {Pace} pace
   * @param {number} [watchers]
   */
  async deltaUs(pace, watchers = 1) {
    const { pid, port, dialect } = this.capsule;
    const watching = await openWatchers({ port, request: dialect.watch, watchers, frames: 0 });
    let before = Promise.resolve(0);
    this.model.onAsked = () => {
      before = processorMs(pid);
    };
    this.model.reply = () => ({ delta: { content: 'word ' }, finish: 'stop', ...pace });
    try {
      await this.#answered(() => true);
      return (((await processorMs(pid)) - (await before)) * 1000) / pace.times;
    } finally {
      await watching.end();
    }
  }

  /**
   * Starts a task and waits for the answer of the model that ends it.
   * @param {() => boolean} isLast Called with each answer.
   */
  async #answered(isLast) {
    const last = new Promise((resolve) => {
      this.model.onAnswered = () => {
        if (isLast()) resolve(null);
      };
    });
    await sendTask(this.capsule);
    await last;
    await delay(settleMs);
  }
}

/** A Node process that asks a model of its own and reads its answer, and does nothing else. */
export class BareTurns {
  /**
   * @param {{ client: import('node:child_process').ChildProcess, port: number, model: Behaviour, close: () => Promise<void> }} parts
   */
  constructor({ client, port, model, close }) {
    this.client = client;
    this.port = port;
    this.model = model;
    this.close = close;
  }

  /** @param {readonly string[]} line What `bash` runs ahead of each request, nothing where it is empty. */
  static async open(line = []) {
    const behaviour = new Behaviour();
    const model = await behaviour.serve();
    const client = fork(bare, [String(model.port), ...line], { env: environment, execArgv: [] });
    const [{ port }] = await once(client, 'message');
    const close = async () => {
      await end(client);
      model.close();
    };
    return new BareTurns({ client, port, model: behaviour, close });
  }

  /**
   * Processor time of a delta that is handed on to one watcher.
   * @param {Pace} pace
   */
  async relayedUs(pace) {
    const { port } = this;
    const watching = await openWatchers({ port, request: svcDialect.watch, watchers: 1, frames: 0 });
    try {
      return ((await this.ask(1, pace)).cpuMs * 1000) / pace.times;
    } finally {
      await watching.end();
    }
  }

  /**
   * Asks so many times.
   * @param {number} times
   * @param {Partial<Pace>} [pace]
   */
  async ask(times, pace = {}) {
    const { client } = this;
    if (client.pid === undefined) throw new Error('the bare client has no process');
    this.model.reply = () => ({ delta: { content: 'word ' }, finish: 'stop', ...pace });
    const before = await processorMs(client.pid);
    const answer = once(client, 'message');
    client.send(times);
    const [{ took }] = await answer;
    return { tookMs: took, cpuMs: (await processorMs(client.pid)) - before };
  }
}
