/** What clients are shown of one task: what was said, what came out of it so far, and when it last changed. */

import type { ContextId, TaskId } from '@svc/protocol/ids.ts';
import type { DispatchedCall } from '../tools/tool.ts';
import { isTerminal, type Task, type TaskState } from './task.ts';

/** A part of a message: text, plain JSON, or a file in base64. */
export type KeptPart =
  | { readonly text: string; readonly mediaType?: string }
  | { readonly data: unknown }
  | { readonly raw: string; readonly mediaType?: string; readonly filename?: string };

/** Something that was said in a task. */
export interface KeptMessage {
  readonly messageId: string;
  readonly from: 'user' | 'agent';
  readonly parts: readonly KeptPart[];
}

/** A file that a task has made or changed, for who may read it. */
export interface KeptFile {
  readonly url: string;
  readonly filename: string;
}

/** Something that came out of a task beside its response: what a hook gave along, or files. */
export interface KeptArtifact {
  readonly id: string;
  readonly name: string;
  readonly text: string;
  /** In the place of the text. */
  readonly files?: readonly KeptFile[];
}

/** What a follower of a task hears, in the order in which it happened. */
export type TaskNews =
  /** `said` is what belongs to the change: a question, why a task failed, what a turn said before it called a tool. */
  | { readonly kind: 'state'; readonly said: KeptMessage | null; readonly isInputTimeout: boolean }
  /** A chunk of the response. `isFirst` where what came before is not part of it any more. */
  | { readonly kind: 'text'; readonly text: string; readonly isFirst: boolean }
  /** The response is what `response` of the record is now, whole. */
  | { readonly kind: 'response' }
  | { readonly kind: 'artifact'; readonly artifact: KeptArtifact }
  | { readonly kind: 'call-ended'; readonly call: DispatchedCall };

export type TaskFollower = (news: TaskNews) => void;

/** Limit for the messages of one task, as text. */
const maxOfTask = 64 * 1024;
/** What a message or an artifact costs beside its text. */
export const costOfOne = 256;

/** What is kept of one task. */
export class TaskRecord {
  readonly task: Task;
  /** As clients see it: a task that completed still works until its hooks have spoken. */
  state: TaskState;
  /** Unix milliseconds of the last change of the state. */
  changedMs: number;
  /** Raised by everything that `GetTask` and its like would show. */
  version = 0;
  /** The last one that belonged to a change of the state, while that lasts. */
  said: KeptMessage | null = null;
  readonly messages: KeptMessage[] = [];
  readonly artifacts: KeptArtifact[] = [];
  /** What the last turn that spoke has said so far; whole once the task completed, null before the first word. */
  response: string | null = null;
  /** A turn has begun since: its first word begins the response again. */
  isStale = false;
  /** Unix milliseconds since which the task has worked on what it came to. */
  workedFromMs: number;
  readonly followers: Set<TaskFollower> = new Set();
  #artifactsMade = 0;
  #messagesMade = 0;
  #saidBytes = 0;
  /** The first half of a character, whose second half may be on its way. */
  #half = '';

  constructor(task: Task, changedMs: number) {
    this.task = task;
    this.state = isTerminal(task.state) && !task.hasSettled ? 'working' : task.state;
    this.changedMs = changedMs;
    this.workedFromMs = changedMs;
    if (this.state === 'completed') this.response = task.result;
  }

  get id(): TaskId {
    return this.task.id;
  }

  get contextId(): ContextId {
    return this.task.contextId;
  }

  /** It is over for good: nothing is said of it any more. */
  get isSettled(): boolean {
    return isTerminal(this.state);
  }

  tell(news: TaskNews): void {
    for (const follower of this.followers) follower(news);
  }

  /** Keeps a message; the oldest ones give way to it. One that is too long for itself is not kept. */
  keep(message: KeptMessage, bytes: number): boolean {
    if (bytes > maxOfTask) return false;
    this.messages.push(message);
    this.#saidBytes += bytes;
    while (this.#saidBytes > maxOfTask) this.forget(this.messages[0]);
    return true;
  }

  forget(message: KeptMessage | undefined): void {
    const at = message === undefined ? -1 : this.messages.indexOf(message);
    const [gone] = at < 0 ? [] : this.messages.splice(at, 1);
    if (gone === undefined) return;
    this.#saidBytes -= bytesOf(gone);
    this.version += 1;
  }

  forgetArtifact(artifact: KeptArtifact): void {
    const at = this.artifacts.indexOf(artifact);
    if (at < 0) return;
    this.artifacts.splice(at, 1);
    this.version += 1;
  }

  /** What was said stays until the turn speaks. */
  beginTurn(): void {
    this.isStale = true;
    this.#half = '';
  }

  /** A chunk without half of a character at its end, which the next one begins with. */
  wholeCharacters(chunk: string): string {
    const text = this.#half + chunk;
    this.#half = /[\uD800-\uDBFF]$/.test(text) ? text.slice(-1) : '';
    return text.slice(0, text.length - this.#half.length).toWellFormed();
  }

  newMessage(from: KeptMessage['from'], text: string): KeptMessage {
    this.#messagesMade += 1;
    return { messageId: `${this.id}-${this.#messagesMade}`, from, parts: [{ text: text.toWellFormed() }] };
  }

  newArtifact(name: string, text: string): KeptArtifact {
    this.#artifactsMade += 1;
    const artifact = { id: `${name}-${this.#artifactsMade}`, name, text };
    this.artifacts.push(artifact);
    return artifact;
  }
}

/** What a message counts for. */
export function bytesOf({ parts }: KeptMessage): number {
  let bytes = costOfOne;
  for (const part of parts) bytes += lengthOf(part);
  return bytes;
}

function lengthOf(part: KeptPart): number {
  if ('text' in part) return part.text.length;
  return 'raw' in part ? part.raw.length : JSON.stringify(part.data).length;
}
