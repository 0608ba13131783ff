/** Starts capsules, sends them messages and watches their streams. */

import { afterEach } from 'vitest';

import { readTrace } from './read-trace.ts';
import { tracePath } from './capsule-folders.ts';
import { FrameStream } from './frame-stream.ts';
import { scriptCapsule, type ScriptCapsule } from './script-capsule.ts';
import {
  message,
  rpc,
  startCapsule,
  type RunLine,
  type SvcEnd,
  type SvcOptions,
  type SvcProcess,
} from './svc-process.ts';
import type { Workspace } from './workspace.ts';

/** The lifecycle of a capsule that stays up for messages. */
export const staysUp = 'lifecycle: { task_acceptance: queue, after_task: sleep }\n';

/** A running capsule and the streams that were opened of it. */
export class StreamedCapsule {
  readonly workspace: Workspace;
  readonly process: SvcProcess;
  readonly line: RunLine;
  readonly #streams: FrameStream[] = [];

  private constructor(workspace: Workspace, process: SvcProcess, line: RunLine) {
    this.workspace = workspace;
    this.process = process;
    this.line = line;
  }

  static async start(
    workspace: Workspace,
    env: SvcOptions['env'] = {},
    args: readonly string[] = [],
  ): Promise<StreamedCapsule> {
    const { process, line } = await startCapsule(workspace, args, { env });
    return new StreamedCapsule(workspace, process, line);
  }

  /** A `stream/watch` that is being served: every frame from now on is on it. */
  async watch(): Promise<FrameStream> {
    const stream = await this.#open('stream/watch', {});
    await stream.until(({ event }) => event === 'connection-ack');
    return stream;
  }

  /** A `message/stream` with one text part. */
  async submit(text: string, contextId?: string): Promise<FrameStream> {
    return await this.#open('message/stream', message(text, contextId));
  }

  /** The result of a `message/send` with one text part. */
  async send(text: string, contextId?: string): Promise<TaskAnswer> {
    return (await this.rpc('message/send', message(text, contextId))) as TaskAnswer;
  }

  /** The task as `tasks/get` answers it. */
  async task(id: string): Promise<TaskAnswer> {
    return (await this.rpc('tasks/get', { id })) as TaskAnswer;
  }

  /** Returns the `result` of a call; the `error` when it failed. */
  async rpc(method: string, params: unknown): Promise<unknown> {
    const answer = await rpc(this.line.url, method, params);
    return answer['result'] ?? answer['error'];
  }

  /** The lines of the trace so far. */
  get trace(): readonly Readonly<Record<string, unknown>>[] {
    return readTrace(tracePath(this.workspace, this.line.session_id));
  }

  async terminate(): Promise<SvcEnd> {
    this.process.child.kill('SIGTERM');
    return await this.process.ended;
  }

  /** Leaves nothing of it behind, whatever state it is in. */
  async dispose(): Promise<void> {
    for (const stream of this.#streams) stream.close();
    const { child } = this.process;
    if (child.exitCode === null && child.signalCode === null) await this.terminate();
    this.workspace.remove();
  }

  async #open(method: string, params: unknown): Promise<FrameStream> {
    const stream = await FrameStream.open(this.line.url, method, params);
    this.#streams.push(stream);
    return stream;
  }
}

export interface TaskAnswer {
  readonly id: string;
  readonly contextId: string;
  readonly status: { readonly state: string; readonly message?: string };
}

/** A starter of capsules, which are ended and gone after the test that started them. */
export function useStreamedCapsules(): {
  readonly script: (options: ScriptCapsule, env?: SvcOptions['env']) => Promise<StreamedCapsule>;
  readonly from: (workspace: Workspace, env?: SvcOptions['env']) => Promise<StreamedCapsule>;
} {
  const capsules: StreamedCapsule[] = [];
  afterEach(async () => {
    for (const capsule of capsules.splice(0)) await capsule.dispose();
  });
  const from = async (workspace: Workspace, env?: SvcOptions['env']): Promise<StreamedCapsule> => {
    const capsule = await StreamedCapsule.start(workspace, env);
    capsules.push(capsule);
    return capsule;
  };
  return { from, script: async (options, env) => await from(scriptCapsule(options), env) };
}
