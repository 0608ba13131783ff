/** One task from its message to its end. */

import type { Snapshot } from '@svc/protocol/live-events.ts';
import type { MessageTags } from '@svc/protocol/message-tags.ts';
import type { TaskFacts } from '@svc/protocol/task-object.ts';
import type { DecodedStatus } from '@svc/protocol/decode-frame.ts';
import { faultCode } from '@svc/protocol/json-rpc.ts';
import { ClientError } from './client-error.ts';
import type { Limits } from './http-door.ts';
import { pause } from './wait.ts';
import { isPassing, pauseBeforeReconnect, type WatchEvent } from './watch-capsule.ts';

/** The events of a task while it runs: its frames, and where some of them may be lost. */
export type TaskEvent = Extract<WatchEvent, { kind: 'frame' | 'gap' }>;

/** A task that asks for input. */
export interface InputQuestion {
  readonly prompt: string;
  readonly task: TaskFacts;
  /** Aborted once the capsule waits for the answer no more. */
  readonly signal: AbortSignal;
}

export interface RunOptions extends MessageTags {
  readonly contextId?: string | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Answers a question; null leaves it to others. Without it every question is left to others. */
  readonly onInput?: (question: InputQuestion) => Promise<string | null> | string | null;
}

interface Canceling {
  readonly signal: AbortSignal;
}

/** The calls of a `CapsuleClient` that a run needs. */
interface TaskDoor {
  watch(options: Canceling): AsyncGenerator<WatchEvent, void>;
  send(
    text: string,
    options: MessageTags & Canceling & { readonly contextId?: string | undefined },
  ): Promise<TaskFacts>;
  task(id: string, options: Canceling): Promise<TaskFacts>;
  snapshot(options: Canceling): Promise<Snapshot | null>;
  answer(taskId: string, waitId: string, text: string, options: Canceling): Promise<TaskFacts>;
}

const terminal: ReadonlySet<string> = new Set(['completed', 'failed', 'canceled', 'rejected']);

/**
 * Sends a message and yields the events of its task until that has ended; returns the task as it ended. It does not use `message/stream`:
 * that ends with whatever task ends first, and a second call would start another task. It opens a watch before it sends the message, so it
 * misses nothing, and resumes the watch when it breaks; so it does with a question about the task. A task that is reopened goes on; after the final frame
 * it asks about the task until its hooks have let it end. A caller that leaves early leaves the task running.
 */
export async function* runTask(
  capsule: TaskDoor,
  limits: Limits,
  text: string,
  { contextId, signal, onInput, ...tags }: RunOptions,
): AsyncGenerator<TaskEvent, TaskFacts> {
  signal?.throwIfAborted();
  const own = new AbortController();
  const leave = (): void => own.abort(signal?.reason);
  signal?.addEventListener('abort', leave, { once: true });
  const events = capsule.watch({ signal: own.signal });
  const again: Again = { limits, signal: own.signal };
  const questions = new Questions(capsule, onInput, again, (error) => own.abort(error));
  /** The state in its final frame; null again once it goes on. */
  let told: TaskFacts | null = null;
  try {
    await events.next();
    const task = await capsule.send(text, { ...tags, contextId, signal: own.signal });
    if (terminal.has(task.state)) return task;
    const look = async (): Promise<TaskFacts> => await capsule.task(task.id, { signal: own.signal });
    let isAgain = false;
    for (;;) {
      const coming = events.next();
      const ended = told === null ? null : await endedBefore(coming, look, again);
      if (ended !== null) return withReason(ended, told);
      const next = await coming;
      if (next.done === true) return await look();
      const event = next.value;
      if (event.kind === 'connected') ({ isAgain } = event);
      if (event.kind === 'frame') {
        const { frame } = event;
        if (frame.taskId !== task.id) continue;
        told = frame.event === 'status' && frame.final && terminal.has(frame.state) ? factsOf(frame, task) : null;
        yield event;
        if (frame.event !== 'status') continue;
        questions.settle();
        if (frame.state === 'input-required') questions.ask(task.id);
        if (!frame.final || told !== null) continue;
      } else {
        // Frames lost before the message was sent belong to other tasks.
        if (!isAgain) continue;
        if (event.kind === 'gap') yield event;
      }
      // A frame may be old or lost, so the state that the capsule gives of the task counts.
      const now = await untilAnswered(look, again);
      if (terminal.has(now.state)) return now;
      if (now.state === 'input-required') questions.ask(task.id);
    }
  } catch (error) {
    // A capsule whose `after_task` is `exit` may be gone after its final frame.
    if (told !== null && isGone(error)) return told;
    throw error;
  } finally {
    signal?.removeEventListener('abort', leave);
    questions.settle();
    own.abort();
    await events.return();
  }
}

function isGone(error: unknown): boolean {
  return isPassing(error) || (error instanceof ClientError && ['lost', 'another-capsule'].includes(error.code));
}

interface Again {
  readonly limits: Limits;
  readonly signal: AbortSignal;
}

/** Asks again where a connection breaks, as often and with the pauses that a watch reconnects with. */
async function untilAnswered<Value>(ask: () => Promise<Value>, again: Again): Promise<Value> {
  for (let failures = 0; ;) {
    try {
      return await ask();
    } catch (error) {
      failures = oneMore(failures, error, again);
    }
    await pause(pauseBeforeReconnect(failures, again.limits), again.signal);
  }
}

/** Counts the failures in a row with this one. Throws it if it will not pass by itself, and after as many as a watch retries. */
function oneMore(failures: number, error: unknown, { limits }: Again): number {
  if (!isPassing(error) || failures >= limits.maxReconnects) throw error;
  return failures + 1;
}

function factsOf({ state, message, response, contextId }: DecodedStatus, task: TaskFacts): TaskFacts {
  const facts = { id: task.id, contextId: contextId ?? task.contextId, state, prompt: null, response };
  return { ...facts, message: message === '' ? null : message };
}

/** Only the final frame of a failed task says why it failed. */
function withReason(ended: TaskFacts, told: TaskFacts | null): TaskFacts {
  return ended.state === 'failed' && ended.response === null && told?.state === 'failed'
    ? { ...ended, response: told.response }
    : ended;
}

/** Pause between two questions whether a task has ended. */
const pollMs = 250;

/**
 * The task as it ended; no frame reports that its hooks have accepted. Returns null when something comes first. A broken connection shows nothing of the
 * task, so it asks again.
 */
async function endedBefore(
  coming: Promise<unknown>,
  look: () => Promise<TaskFacts>,
  again: Again,
): Promise<TaskFacts | null> {
  let isCome = false;
  const come = coming.then(
    () => (isCome = true),
    () => (isCome = true),
  );
  let failures = 0;
  for (;;) {
    try {
      const now = await look();
      if (terminal.has(now.state)) return now;
      failures = 0;
    } catch (error) {
      failures = oneMore(failures, error, again);
    }
    await Promise.race([come, pause(pollMs, again.signal)]);
    if (isCome) return null;
  }
}

/** Asks one question at a time, while frames are read. */
class Questions {
  readonly #capsule: TaskDoor;
  readonly #onInput: RunOptions['onInput'];
  readonly #again: Again;
  readonly #fail: (error: unknown) => void;
  #asked: AbortController | null = null;

  /** `fail` ends the run with the error of a question. */
  constructor(capsule: TaskDoor, onInput: RunOptions['onInput'], again: Again, fail: (error: unknown) => void) {
    this.#capsule = capsule;
    this.#onInput = onInput;
    this.#again = again;
    this.#fail = fail;
  }

  ask(taskId: string): void {
    if (this.#asked !== null || this.#onInput === undefined) return;
    this.#asked = new AbortController();
    this.#answer(taskId, this.#onInput, this.#asked.signal).catch(this.#fail);
  }

  /** Every earlier question has an answer by now, or the capsule waits for it no more. */
  settle(): void {
    this.#asked?.abort();
    this.#asked = null;
  }

  async #answer(taskId: string, onInput: NonNullable<RunOptions['onInput']>, settled: AbortSignal): Promise<void> {
    const { signal } = this.#again;
    // It comes before the question is read: the capsule refuses an answer to another question, and the new question is asked by itself.
    const snapshot = await untilAnswered(() => this.#capsule.snapshot({ signal }), this.#again);
    const task = await untilAnswered(() => this.#capsule.task(taskId, { signal }), this.#again);
    // The frame belongs to a question that has been answered.
    if (task.state !== 'input-required' || settled.aborted) return;
    const answer = await onInput({ prompt: task.prompt ?? '', task, signal: settled });
    // A message that the capsule does not wait for would start another task.
    if (answer === null || settled.aborted) return;
    if (snapshot === null) return void (await this.#capsule.send(answer, { contextId: task.contextId, signal }));
    const question = snapshot.tasks.find((each) => each.taskId === taskId)?.question;
    if (question === undefined || question === null) return;
    await untilAnswered(() => this.#answerOnce(taskId, question.waitId, answer), this.#again);
  }

  /** Harmless when another client was faster, or when an earlier try had reached the capsule. */
  async #answerOnce(taskId: string, waitId: string, answer: string): Promise<void> {
    try {
      await this.#capsule.answer(taskId, waitId, answer, { signal: this.#again.signal });
    } catch (error) {
      if (!(error instanceof ClientError) || error.fault !== faultCode('question-not-open')) throw error;
    }
  }
}
