/** A running capsule, as another program drives it. */

import { agentCardPath, decodeAgentCard, type DecodedCard } from '@svc/protocol/agent-card.ts';
import { audienceHeader } from '@svc/protocol/audience.ts';
import { decodeJsonRpcAnswer, encodeJsonRpcRequest, faultCode } from '@svc/protocol/json-rpc.ts';
import type { Snapshot } from '@svc/protocol/live-events.ts';
import { encodeMessage } from '@svc/protocol/message.ts';
import { encodeMessageTags, type MessageTags } from '@svc/protocol/message-tags.ts';
import {
  type ApprovalAnswer,
  decodeOpenApprovals,
  decodeSettledApproval,
  encodeApprovalAnswer,
  type OpenApproval,
  type SettledApproval,
} from '@svc/protocol/approval.ts';
import { encodeAnswer } from '@svc/protocol/question.ts';
import { encodeCommand, type TypedCommand } from '@svc/protocol/typed-command.ts';
import {
  decodeFileFacts,
  decodeListing,
  resourcesPath,
  type DecodedFileFacts,
  type Listing,
} from '@svc/protocol/resource-files.ts';
import { encodeResourcePath } from '@svc/protocol/resource-path.ts';
import { decodeStopReport, type StopReport } from '@svc/protocol/stop-report.ts';
import { decodeTask, type TaskFacts } from '@svc/protocol/task-object.ts';
import { encodeTaskSkills } from '@svc/protocol/task-skills.ts';
import { encodeTaskOrigin, type TaskOrigin } from '@svc/protocol/task-origin.ts';
import { ClientError } from './client-error.ts';
import { askingForEvents, faultOf, oddAnswer } from './event-stream.ts';
import { checkHashing, type DoorOptions, HttpDoor, sha256Hex } from './http-door.ts';
import { runTask, type RunOptions, type TaskEvent } from './run-task.ts';
import { isPassing, readSnapshot, watchCapsule, type WatchEvent, type WatchOptions } from './watch-capsule.ts';

export interface CapsuleOptions extends DoorOptions {
  /** What the card must say, because another capsule may listen there now. With it the client reads the card even when `isGated` is false. */
  readonly expect?: Partial<Pick<DecodedCard, 'name' | 'version' | 'sessionId'>>;
  /** False calls methods that no card lists too. Without `expect` it then does not read the card, which a proxy may hide. */
  readonly isGated?: boolean;
}

export interface CallOptions {
  readonly signal?: AbortSignal | undefined;
}

export interface SendOptions extends CallOptions, MessageTags {
  readonly contextId?: string | undefined;
  /** How the message reaches the capsule; absent for an ordinary message of a user. */
  readonly origin?: TaskOrigin;
  /** Skills whose texts the task begins with. */
  readonly skills?: readonly string[];
  /** True for a message that must not answer the question that waits. A capsule without live events takes it as the answer all the same. */
  readonly isTask?: boolean;
}

export interface CapsuleFile extends DecodedFileFacts {
  /** Their SHA-256 is `sha256`. */
  readonly bytes: Uint8Array<ArrayBuffer>;
}

/**
 * Talks to one capsule. It reads the card before the first call, and again once a connection broke. It sends nothing and throws `not-served` for a method or plane that the card does not list,
 * and `another-capsule` for another card than the expected one. A runtime whose card has no `serves` shows by its answers what it serves. Every method takes an AbortSignal, and rejects with its
 * reason once that is aborted; any other failure is a `ClientError`.
 */
export class CapsuleClient {
  readonly #door: HttpDoor;
  readonly #expect: NonNullable<CapsuleOptions['expect']>;
  readonly #isGated: boolean;
  /** Is null until it is read, and again once a connection broke: another capsule may listen there by now. */
  #card: DecodedCard | null = null;
  #messages = 0;

  constructor({ expect = {}, isGated = true, ...options }: CapsuleOptions) {
    this.#door = new HttpDoor(options);
    this.#expect = expect;
    this.#isGated = isGated;
  }

  /** The card as it is now. Throws `another-capsule` when it does not say what is expected. */
  async card({ signal }: CallOptions = {}): Promise<DecodedCard> {
    const card = decodeAgentCard(await this.#door.json({ method: 'GET', target: agentCardPath, signal }));
    if (card === undefined) throw new ClientError('bad-answer', `${this.#door.url} shows no card of a capsule`);
    for (const key of ['name', 'version', 'sessionId'] as const) {
      const expected = this.#expect[key];
      if (expected === undefined || expected === card[key]) continue;
      throw new ClientError('another-capsule', `the ${key} of ${this.#door.url} is ${card[key]}, not ${expected}`);
    }
    return card;
  }

  /** One JSON-RPC call; its result. Throws `fault` for an error. */
  async call(
    method: string,
    params: unknown,
    options: CallOptions & { readonly headers?: Readonly<Record<string, string>> } = {},
  ): Promise<unknown> {
    await this.#gate('methods', method, options.signal);
    return await this.#ask(method, params, options);
  }

  async #ask(
    method: string,
    params: unknown,
    { signal, headers = {} }: CallOptions & { readonly headers?: Readonly<Record<string, string>> },
  ): Promise<unknown> {
    const asked = {
      method: 'POST',
      target: '/',
      headers: { ...headers, 'content-type': 'application/json' },
      body: encodeJsonRpcRequest(1, method, params),
      signal,
    } as const;
    const json = await this.#noting(this.#door.json(asked));
    const answer = decodeJsonRpcAnswer(json);
    if (answer === null) throw oddAnswer(this.#door, json);
    if (answer.kind === 'error') throw faultOf(method, answer);
    return answer.result;
  }

  /** Starts a task, or answers the one that waits for input. A capsule with no room answers a task with state `rejected`. */
  async send(text: string, options: SendOptions = {}): Promise<TaskFacts> {
    const { contextId, origin = { kind: 'message' }, isTask = false, skills = [], signal } = options;
    this.#messages += 1;
    const message = { messageId: `message-${this.#messages}`, role: 'user', text };
    const params = encodeMessage(contextId === undefined ? message : { ...message, contextId });
    const more = isTask ? askingForEvents : {};
    const headers = {
      ...encodeTaskOrigin(origin),
      ...encodeMessageTags(options),
      ...encodeTaskSkills(skills),
      ...more,
    };
    return this.#taskIn(await this.call('message/send', params, { signal, headers }));
  }

  /** The task as it stands; without an id the running one, else the last. */
  async task(id?: string, options: CallOptions = {}): Promise<TaskFacts> {
    return this.#taskIn(await this.call('tasks/get', { id }, options));
  }

  /** Cancels a task and returns it; does nothing if it has already ended. */
  async cancel(id: string, options: CallOptions = {}): Promise<TaskFacts> {
    return this.#taskIn(await this.call('tasks/cancel', { id }, options));
  }

  /** Cancels every live task. */
  async stop(options: CallOptions = {}): Promise<StopReport> {
    const report = decodeStopReport(await this.call('session/stop', {}, options));
    if (report !== null) return report;
    throw new ClientError('bad-answer', `${this.#door.url} answered session/stop with an unknown shape`);
  }

  /**
   * Answers exactly this question of this task, and no other that has come meanwhile; returns the task, which goes on. Throws `fault` -32010 when it does not wait for
   * the answer, or not any more; then nothing has happened. Throws `not-served` for a capsule that takes answers by `send` only.
   */
  async answer(taskId: string, waitId: string, text: string, { signal }: CallOptions = {}): Promise<TaskFacts> {
    await this.#checkedCard(signal);
    return this.#taskIn(await this.#askBeyond('tasks/answer', encodeAnswer({ taskId, waitId, text }), signal));
  }

  /**
   * Starts a task that is this command, at which no model works. Only the person who started the capsule may. Throws `fault` -32011 for a capsule without a shell, `not-served` for
   * one that takes no commands.
   */
  async command(typed: TypedCommand, { signal }: CallOptions = {}): Promise<TaskFacts> {
    await this.#checkedCard(signal);
    return this.#taskIn(await this.#askBeyond('tasks/command', encodeCommand(typed), signal));
  }

  /** The calls that wait for an approval. Throws `not-served` for a capsule that knows no approvals. */
  async approvals({ signal }: CallOptions = {}): Promise<readonly OpenApproval[]> {
    await this.#checkedCard(signal);
    return decodeOpenApprovals(await this.#askBeyond('approvals/list', {}, signal));
  }

  /**
   * Answers exactly this approval of exactly this call. Throws `fault` -32050 where it was settled before, -32051 where another call waits under this id, -32001 where
   * nothing does; then nothing has happened. Throws `not-served` for a capsule that knows no approvals.
   */
  async approve(
    answer: ApprovalAnswer,
    { signal }: CallOptions = {},
  ): Promise<Pick<SettledApproval, 'decision' | 'by'>> {
    await this.#checkedCard(signal);
    const settled = decodeSettledApproval(
      await this.#askBeyond('approvals/answer', encodeApprovalAnswer(answer), signal),
    );
    if (settled !== null) return settled;
    throw new ClientError('bad-answer', `${this.#door.url} answered approvals/answer with an unknown shape`);
  }

  /** Asks for a method that no card lists. */
  async #askBeyond(method: string, params: unknown, signal: AbortSignal | undefined): Promise<unknown> {
    try {
      return await this.#ask(method, params, { signal, headers: askingForEvents });
    } catch (error) {
      if (!(error instanceof ClientError) || error.fault !== faultCode('method-not-found')) throw error;
      throw new ClientError('not-served', `${this.#door.url} does not serve ${method}`, { cause: error });
    }
  }

  /** The live tasks of the session, with their questions. Returns null for a capsule that has no live events. */
  async snapshot({ signal }: CallOptions = {}): Promise<Snapshot | null> {
    await this.#gate('methods', 'stream/watch', signal);
    return await this.#noting(readSnapshot(this.#door, signal));
  }

  /** Follows everything the capsule does, with `events` also what happens beyond its frames. See `watchCapsule`. */
  async *watch(options: WatchOptions = {}): AsyncGenerator<WatchEvent, void> {
    await this.#gate('methods', 'stream/watch', options.signal);
    yield* watchCapsule(this.#door, options, async () => {
      this.#card = null;
      if (this.#isExpecting) await this.#checkedCard(options.signal);
    });
  }

  /** Sends a message and follows its task to its end. See `runTask`. */
  run(text: string, options: RunOptions = {}): AsyncGenerator<TaskEvent, TaskFacts> {
    return runTask(this, this.#door.limits, text, options);
  }

  /** The files of the operator plane. */
  async files({ signal }: CallOptions = {}): Promise<Listing> {
    await this.#gate('planes', 'files', signal);
    const asked = { method: 'GET', target: `${resourcesPath}files`, signal } as const;
    const listing = decodeListing(await this.#noting(this.#door.json(asked)));
    if (listing !== null) return listing;
    throw new ClientError('bad-answer', `${this.#door.url} answered with no listing of files`);
  }

  /** One file, by its path in the listing. */
  async file(path: string, { signal }: CallOptions = {}): Promise<CapsuleFile> {
    await this.#gate('planes', 'files', signal);
    return await this.#read(`files/${encodeResourcePath(path)}`, {}, signal);
  }

  /** The file that a peer handle is for. `audience` is the reader it was shared with: `<name>@<host:port>`. */
  async sharedFile(handle: string, audience: string, { signal }: CallOptions = {}): Promise<CapsuleFile> {
    await this.#gate('planes', 'peer_files', signal);
    return await this.#read(`peer/${encodeURIComponent(handle)}`, { [audienceHeader]: audience }, signal);
  }

  async #read(rest: string, headers: Readonly<Record<string, string>>, signal?: AbortSignal): Promise<CapsuleFile> {
    checkHashing();
    const { maxFileBytes, idleMs } = this.#door.limits;
    const asked = { method: 'GET', target: resourcesPath + rest, headers, signal } as const;
    const reading = this.#door.ask(asked, async (answer) => {
      if (answer.status !== 200) throw await this.#door.refusal(answer);
      const facts = decodeFileFacts(answer.header);
      if (facts === null) throw new ClientError('bad-answer', 'the answer has not the etag and generation of a file');
      const bytes = await answer.bytes(maxFileBytes, idleMs);
      if ((await sha256Hex(bytes)) === facts.sha256) return { ...facts, bytes };
      throw new ClientError('bad-answer', 'the bytes that came are not those that were announced');
    });
    return await this.#noting(reading);
  }

  async #gate(kind: 'methods' | 'planes', name: string, signal: AbortSignal | undefined): Promise<void> {
    const { serves } = (await this.#checkedCard(signal)) ?? { serves: null };
    if (!this.#isGated || serves === null || serves[kind].includes(name)) return;
    throw new ClientError('not-served', `${this.#door.url} does not serve ${name}, as its card says`);
  }

  /** Returns null if the caller expects nothing of it. */
  async #checkedCard(signal: AbortSignal | undefined): Promise<DecodedCard | null> {
    if (!this.#isGated && !this.#isExpecting) return null;
    this.#card ??= await this.card({ signal });
    return this.#card;
  }

  get #isExpecting(): boolean {
    return Object.values(this.#expect).some((expected) => expected !== undefined);
  }

  async #noting<Value>(asking: Promise<Value>): Promise<Value> {
    try {
      return await asking;
    } catch (error) {
      if (isPassing(error)) this.#card = null;
      throw error;
    }
  }

  #taskIn(result: unknown): TaskFacts {
    const task = decodeTask(result);
    if (task !== null) return task;
    throw new ClientError('bad-answer', `${this.#door.url} answered with no task`);
  }
}
