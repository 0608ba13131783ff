/** Runs a capsule inside a program, as `svc run` does in one of its own. */

import { resolve } from 'node:path';

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { homeDirectory } from '@svc/kit/files/home-directory.ts';
import { findPackageRoot } from '@svc/kit/files/package-root.ts';
import type { Activity } from '@svc/session/task/activity.ts';
import type { InitialTask } from './launch/initial-task.ts';
import type { RunObserver, RunOutcome, RunRequest } from './launch/running-capsule.ts';
import { launchError, problemOf } from './library/launch-error.ts';
import { providedDriver } from './library/provided-driver.ts';
import type { CapsuleEvent, CapsuleOutcome, CapsuleRequest, EndedTask } from './library/requests.ts';
import { runCapsule as runToEnd } from './run/run-capsule.ts';

export { CapsuleError } from './library/capsule-error.ts';
export type {
  CapsuleEvent,
  CapsuleOutcome,
  CapsuleRequest,
  ContentBlock,
  EndedTask,
  InferenceRequest,
  InferenceResponse,
  Message,
  ModelProvider,
  Problem,
  ToolDefinition,
} from './library/requests.ts';

/** A capsule that gets messages may run for months. */
const maxTasks = 1000;

/** Streams and answers at the end may take a quarter of this, as with `svc run`. */
const stopWithinMs = 18_000;

/**
 * Runs a capsule to its end in this process, and closes all that it opened. Rejects with a `CapsuleError` where it cannot be launched, with the reason of a
 * signal that was aborted before, and with what `onEvent` threw; everything that goes wrong later is part of the outcome. Artifacts that are not on
 * this machine are not fetched: `svc install` does that.
 */
export async function runCapsule(request: CapsuleRequest): Promise<CapsuleOutcome> {
  request.signal?.throwIfAborted();
  const run = new Run(request);
  try {
    return await run.outcome();
  } finally {
    run.close();
  }
}

class Run {
  readonly #request: CapsuleRequest;
  readonly #stop = new AbortController();
  readonly #tasks: EndedTask[] = [];
  #session: { readonly id: string; readonly workdir: string } | null = null;
  #redact: (text: string) => string = (text) => text;
  /** What the listener threw first. */
  #thrown: { readonly error: unknown } | null = null;

  constructor(request: CapsuleRequest) {
    this.#request = request;
    request.signal?.addEventListener('abort', this.#onAbort, { once: true });
  }

  async outcome(): Promise<CapsuleOutcome> {
    const { status, trap } = await this.#end().catch((error: unknown) => {
      throw this.#thrown === null ? launchError(error) : this.#thrown.error;
    });
    if (this.#thrown !== null) throw this.#thrown.error;
    const { id: sessionId, workdir } = this.#session ?? nobody();
    return { status, sessionId, workdir, tasks: this.#tasks, problem: trap === null ? null : problemOf(trap) };
  }

  async #end(): Promise<RunOutcome> {
    return await runToEnd(this.#launch(), this.#observer());
  }

  close(): void {
    this.#request.signal?.removeEventListener('abort', this.#onAbort);
  }

  readonly #onAbort = (): void => this.#stop.abort();

  #launch(): RunRequest {
    const { manifest, task, workdir, provider, env = process.env, home, containment } = this.#request;
    const cwd = process.cwd();
    return {
      manifestFile: manifest,
      published: null,
      workdir: workdir === undefined ? null : resolve(cwd, workdir),
      writesGit: false,
      approval: null,
      sessionId: null,
      stopWithinMs,
      task: undefined,
      readTask: async () => '',
      capture: undefined,
      parentCapture: undefined,
      bind: '127.0.0.1',
      readEnvFile: true,
      sources: () => [],
      fetchObserver: null,
      floor: containment,
      cwd,
      home: homeDirectory(home ?? env['HOME']),
      // The program that runs here is not `svc`, which a capsule that delegates starts.
      env: { ...env, SVC_BINARY: env['SVC_BINARY'] || resolve(findPackageRoot(import.meta.filename), 'bin/svc.cjs') },
      telemetryEnv: env,
      stop: this.#stop.signal,
      changes: {
        settle: (declared) => declared,
        task: async (find) => (task === undefined ? await find() : givenTask(task)),
      },
      onActivity: (activity) => this.#note(activity),
      ...(provider === undefined ? {} : { driver: (redact) => providedDriver(provider, redact) }),
    };
  }

  #observer(): RunObserver {
    return {
      onWarning: (warning) => this.#tell({ kind: 'warning', ...problemOf(warning) }),
      onListening: ({ reachableAt, sessionId, workdir, name, version }, { redact }) => {
        this.#session = { id: sessionId, workdir };
        this.#redact = redact;
        this.#tell({ kind: 'listening', url: `http://${reachableAt}`, sessionId, workdir, name, version });
      },
      onFrame: (frame, id) => this.#tell({ kind: 'frame', id, frame }),
      onTaskFailed: ({ words, code, hint }) => this.#tell({ kind: 'task-failed', message: words, code, hint }),
      onRetained: () => {},
    };
  }

  #note(activity: Activity): void {
    if (activity.kind !== 'task-settled') return;
    const { id, state, result, failure } = activity.task;
    const ended = state === 'completed' || state === 'canceled' ? state : 'failed';
    const error = ended === 'failed' ? this.#redact(failure ?? 'the session ended') : null;
    this.#tasks.push({ id, state: ended, result, error });
    if (this.#tasks.length > maxTasks) this.#tasks.shift();
  }

  #tell(event: CapsuleEvent): void {
    if (this.#thrown !== null) return;
    try {
      this.#request.onEvent?.(event);
    } catch (error) {
      this.#thrown = { error };
      this.#stop.abort();
    }
  }
}

function givenTask(text: string): InitialTask {
  if (text.trim() !== '') return { text, warnings: [] };
  throw new Diagnostic('E-RUN-024', 'the task is empty', { hint: 'say what the capsule is to do' });
}

function nobody(): never {
  throw new Error('a session that ended was listening before');
}
