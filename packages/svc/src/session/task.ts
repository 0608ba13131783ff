import type { ContextId, TaskId } from '@svc/protocol/ids.ts';
import type { PreparedText } from '../trace/trace.ts';
import { isTerminal, step, type Announcement, type TaskEvent, type TaskState } from './task-state.ts';

/** How a task reached the capsule (contracts §7). */
export type TaskOrigin = 'user' | 'message' | 'peer' | 'completion';

export type Trust = 'trusted' | 'untrusted';

/** Foreground before background; first in, first out within one. */
export type Lane = 'foreground' | 'background';

export interface TaskSource {
  readonly text: string;
  readonly origin: TaskOrigin;
  readonly trust: Trust;
  /** The message's own context; a fresh one is minted without it (D1 "Identifier shapes"). */
  readonly contextId?: ContextId;
  /** A long text as the trace will hold it; without it the text is encoded as it is recorded. */
  readonly prepared?: PreparedText;
}

/** An open question of a tool to whoever gave the task. */
export interface InputWait {
  readonly prompt: string;
  /** Settles once the question is answered, timed out or canceled. */
  readonly settled: Promise<unknown>;
  answer(text: string): void;
}

export interface TaskIdentity {
  readonly id: TaskId;
  readonly contextId: ContextId;
}

/** One unit of work and where it stands. Its state moves through the table of `task-state.ts` alone. */
export class Task {
  readonly id: TaskId;
  readonly contextId: ContextId;
  readonly origin: TaskOrigin;
  readonly trust: Trust;
  readonly lane: Lane;
  /** What was asked; empty once the task has ended, when nobody reads it any more. */
  text: string;
  readonly #cancel = new AbortController();
  #state: TaskState = 'submitted';
  #statusMessage: string | null = null;
  #ended: () => void = () => {};

  /** The text of `out/result.txt` once this task wrote it. */
  result: string | null = null;
  inputWait: InputWait | null = null;
  /** Whether the hooks that are asked now may reopen the task, once it has completed. */
  mayReopen = false;
  /** Settles when the task is terminal and nothing of it runs any more. */
  readonly whenEnded: Promise<void> = new Promise((resolve) => {
    this.#ended = resolve;
  });

  constructor(identity: TaskIdentity, source: TaskSource) {
    this.id = identity.id;
    this.contextId = identity.contextId;
    this.text = source.text;
    this.origin = source.origin;
    this.trust = source.trust;
    this.lane = source.origin === 'completion' ? 'background' : 'foreground';
  }

  get state(): TaskState {
    return this.#state;
  }

  /** The state as clients are told of it: a task that completed still works while a hook may reopen it (contracts §1 "`tasks/get`"). */
  get toldState(): TaskState {
    return this.#state === 'completed' && this.mayReopen && !this.signal.aborted ? 'working' : this.#state;
  }

  /** What the last status frame said, or why there is none; null before the first. */
  get statusMessage(): string | null {
    return this.#statusMessage;
  }

  get isTerminal(): boolean {
    return isTerminal(this.#state);
  }

  /** Reaches whatever the task is doing: inference call, component worker, subprocess group, input wait. */
  get signal(): AbortSignal {
    return this.#cancel.signal;
  }

  /** An accepted cancel wins over every later outcome (contracts §6). */
  requestCancel(): void {
    this.#cancel.abort(new TaskCanceled());
  }

  apply(event: TaskEvent): Announcement | null {
    const transition = step(this.#state, event);
    this.#state = transition.state;
    if (transition.announcement !== null) this.#statusMessage = transition.announcement.message;
    // Said to whoever asks for the task, though no frame says it (D1 "Task states" 2).
    if (event.kind === 'broke' || event.kind === 'malformed') this.#statusMessage = event.error;
    return transition.announcement;
  }

  markEnded(): void {
    this.text = '';
    this.mayReopen = false;
    this.#ended();
  }
}

/** The reason an aborted task's signal carries. */
export class TaskCanceled extends Error {
  constructor() {
    super('the task was canceled');
    this.name = 'TaskCanceled';
  }
}
