/** Asks the thread that compiles schemas, and ends it when it takes too long. */

import { join } from 'node:path';
import { Worker } from 'node:worker_threads';

import { isCoded, systemReason } from '@svc/kit/diagnostics/system-reason.ts';
import { findPackageRoot } from '@svc/kit/files/package-root.ts';
import type { JsonSchema } from './schema-problems.ts';
import type { SchemaAnswer, SchemaQuestion } from './schema-thread-main.ts';

export type ThreadAnswer =
  | SchemaAnswer
  | { readonly kind: 'out-of-time' }
  /** There is no thread to ask, or it ran out of memory; `reason` is a clause. */
  | { readonly kind: 'no-thread'; readonly reason: string };

/** Until the thread has read the compiler and compiled a first schema, on a machine that has much else to do. */
const startTimeoutMs = 30_000;
const compileTimeoutMs = 2000;
const checkTimeoutMs = 250;
/** The heap for the compiler, a schema and the arguments of a call. */
const heapMegabytes = 256;

/** No tool has this key: its schema is compiled first. */
const firstKey = 0;
const firstSchema: JsonSchema = { type: 'object' };

interface Running {
  readonly worker: Worker;
  /** The schemas that it has compiled. */
  readonly compiled: Set<number>;
}

/**
 * One thread for all schemas of a process, started when it is first asked and ended where it takes too long; the next question starts another.
 * A time limit within the thread of the session would start one for each check, and Node aborts the process when the system refuses it.
 */
class SchemaThread {
  readonly #keys = new WeakMap<JsonSchema, number>();
  #nextKey = 0;
  #running: Running | null = null;
  /** Questions are answered one after another. */
  #last: Promise<unknown> = Promise.resolve();

  async compile(schema: JsonSchema): Promise<ThreadAnswer> {
    return await this.#inTurn(async (thread) => await this.#compile(thread, schema));
  }

  async problemsOf(schema: JsonSchema, args: unknown): Promise<ThreadAnswer> {
    return await this.#inTurn(async (thread) => {
      const compiled = await this.#compile(thread, schema);
      if (compiled.kind !== 'problems') return compiled;
      return await this.#ask(thread, { kind: 'check', key: this.#keyOf(schema), args }, checkTimeoutMs);
    });
  }

  /** Whether it compiles, and is a schema at all. */
  async checkSchema(schema: JsonSchema): Promise<ThreadAnswer> {
    return await this.#inTurn(
      async (thread) => await this.#ask(thread, { kind: 'check-schema', schema }, compileTimeoutMs),
    );
  }

  async #inTurn(work: (thread: Running) => Promise<ThreadAnswer>): Promise<ThreadAnswer> {
    const mine = this.#last.then(async (): Promise<ThreadAnswer> => {
      const thread = await this.#start();
      return typeof thread === 'string' ? { kind: 'no-thread', reason: thread } : await work(thread);
    });
    this.#last = mine.catch(() => undefined);
    return await mine;
  }

  #keyOf(schema: JsonSchema): number {
    const known = this.#keys.get(schema);
    if (known !== undefined) return known;
    this.#nextKey += 1;
    this.#keys.set(schema, this.#nextKey);
    return this.#nextKey;
  }

  async #compile(thread: Running, schema: JsonSchema): Promise<ThreadAnswer> {
    const key = this.#keyOf(schema);
    if (thread.compiled.has(key)) return { kind: 'problems', problems: [] };
    const answer = await this.#ask(thread, { kind: 'compile', key, schema }, compileTimeoutMs);
    if (answer.kind === 'problems') thread.compiled.add(key);
    return answer;
  }

  /** The running thread; a clause that says why when the system starts none. */
  async #start(): Promise<Running | string> {
    if (this.#running !== null) return this.#running;
    try {
      const worker = new Worker(join(findPackageRoot(import.meta.filename), 'dist', 'schema-thread.cjs'), {
        env: {},
        execArgv: [],
        stdout: true,
        stderr: true,
        resourceLimits: { maxOldGenerationSizeMb: heapMegabytes },
      });
      const running = { worker, compiled: new Set<number>() };
      this.#running = running;
      worker.once('exit', () => {
        if (this.#running === running) this.#running = null;
      });
      const question = { kind: 'compile', key: firstKey, schema: firstSchema } as const;
      const first = await this.#ask(running, question, startTimeoutMs);
      if (first.kind === 'problems') return running;
      return first.kind === 'out-of-time' ? 'it did not start in 30 seconds' : first.reason;
    } catch (error) {
      // The message is the system's code for what it refused, a thread or descriptors for one.
      if (!isCoded(error) || error.code !== 'ERR_WORKER_INIT_FAILED') throw error;
      return `no thread can be started for it: ${systemReason({ code: error.message })}`;
    }
  }

  async #ask({ worker }: Running, question: SchemaQuestion, timeoutMs: number): Promise<ThreadAnswer> {
    worker.ref();
    try {
      return await new Promise((resolve) => {
        const settle = (answer: ThreadAnswer): void => {
          clearTimeout(timer);
          worker.removeAllListeners('message');
          worker.off('error', onError);
          worker.off('exit', onExit);
          resolve(answer);
        };
        const onError = (error: Error): void => settle({ kind: 'no-thread', reason: error.message });
        const onExit = (): void => settle({ kind: 'no-thread', reason: 'it ended at once' });
        const timer = setTimeout(() => {
          this.#running = null;
          void worker.terminate();
          settle({ kind: 'out-of-time' });
        }, timeoutMs);
        worker.once('error', onError);
        worker.once('exit', onExit);
        worker.once('message', (answer: SchemaAnswer) => settle(answer));
        worker.postMessage(question);
      });
    } finally {
      worker.unref();
    }
  }
}

export const schemaThread: SchemaThread = new SchemaThread();
