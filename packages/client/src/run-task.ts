/** One task from its message to its end. */

import type { MessageTags } from '@svc/protocol/message-tags.ts';
import type { TaskFacts } from '@svc/protocol/task-object.ts';
import type { DecodedStatus } from '@svc/protocol/decode-frame.ts';
import type { CapsuleClient } from './capsule-client.ts';
import { ClientError } from './client-error.ts';
import { pause } from './wait.ts';
import type { WatchEvent } from './watch-capsule.ts';

/** What is told of a task while it runs: its frames, and where some of them may be lost. */
export type TaskEvent = Extract<WatchEvent, { kind: 'frame' | 'gap' }>;

/** A task that asks for input. */
export interface InputQuestion {
  readonly prompt: string;
  readonly task: TaskFacts;
  /** Aborted once nobody waits for the answer any more. */
  readonly signal: AbortSignal;
}

export interface RunOptions extends MessageTags {
  readonly contextId?: string | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Answers a question; null leaves it to others. Without it every question is left to others. */
  readonly onInput?: (question: InputQuestion) => Promise<string | null> | string | null;
}

const terminal: ReadonlySet<string> = new Set(['completed', 'failed', 'canceled', 'rejected']);

/**
 * Sends a message and gives the events of its task until that has ended; the last value is the task as it ended. `message/stream`
 * is not used: it ends with whatever task ends first, and asking again would start another task. A watch that stands before the message is sent
 * misses nothing, and is taken up again when it breaks. A task that is reopened goes on; one whose final frame has come is asked after until its hooks
 * have let it end. Who leaves early leaves the task running.
 */
export async function* runTask(
  capsule: CapsuleClient,
  text: string,
  { contextId, signal, onInput, ...tags }: RunOptions,
): AsyncGenerator<TaskEvent, TaskFacts> {
  signal?.throwIfAborted();
  const own = new AbortController();
  const leave = (): void => own.abort(signal?.reason);
  signal?.addEventListener('abort', leave, { once: true });
  const events = capsule.watch({ signal: own.signal });
  const questions = new Questions(capsule, onInput, own);
  try {
    await events.next();
    const task = await capsule.send(text, { ...tags, contextId, signal: own.signal });
    if (terminal.has(task.state)) return task;
    let isAgain = false;
    /** As its final frame told of it; null again once it goes on. */
    let told: TaskFacts | null = null;
    const asked = async (): Promise<TaskFacts> => {
      try {
        return await capsule.task(task.id, { signal: own.signal });
      } catch (error) {
        // A capsule whose `after_task` is `exit` may be gone as soon as it has told.
        if (told !== null && error instanceof ClientError && error.code === 'unreachable') return told;
        throw error;
      }
    };
    for (;;) {
      const coming = events.next();
      const ended = told === null ? null : await endedBefore(coming, { asked, signal: own.signal });
      if (ended !== null) return ended;
      const next = await coming;
      if (next.done === true) return await asked();
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
        if (!frame.final) continue;
      } else {
        // What was lost before the message was sent is of other tasks.
        if (!isAgain) continue;
        if (event.kind === 'gap') yield event;
      }
      // A frame may be old, or lost: what holds is what the capsule says of the task.
      const now = await asked();
      if (terminal.has(now.state)) return now;
      if (now.state === 'input-required') questions.ask(task.id);
    }
  } finally {
    signal?.removeEventListener('abort', leave);
    questions.settle();
    own.abort();
    await events.return();
  }
}

function factsOf({ state, message, response, contextId }: DecodedStatus, task: TaskFacts): TaskFacts {
  const facts = { id: task.id, contextId: contextId ?? task.contextId, state, prompt: null, response };
  return { ...facts, message: message === '' ? null : message };
}

/** Between two questions whether a task has ended. */
const pollMs = 250;

interface Ending {
  readonly asked: () => Promise<TaskFacts>;
  readonly signal: AbortSignal;
}

/** The task as it ended, which no frame says once its hooks have accepted; null when something comes first. */
async function endedBefore(coming: Promise<unknown>, { asked, signal }: Ending): Promise<TaskFacts | null> {
  let isCome = false;
  const come = coming.then(
    () => (isCome = true),
    () => (isCome = true),
  );
  for (;;) {
    await Promise.race([come, pause(pollMs, signal)]);
    if (isCome) return null;
    const now = await asked();
    if (terminal.has(now.state)) return now;
  }
}

/** Asks one question at a time, beside the reading of frames. */
class Questions {
  readonly #capsule: CapsuleClient;
  readonly #onInput: RunOptions['onInput'];
  /** Of the run, which ends with what a question fails of. */
  readonly #run: AbortController;
  #asked: AbortController | null = null;

  constructor(capsule: CapsuleClient, onInput: RunOptions['onInput'], run: AbortController) {
    this.#capsule = capsule;
    this.#onInput = onInput;
    this.#run = run;
  }

  ask(taskId: string): void {
    if (this.#asked !== null || this.#onInput === undefined) return;
    this.#asked = new AbortController();
    this.#answer(taskId, this.#onInput, this.#asked.signal).catch((error: unknown) => this.#run.abort(error));
  }

  /** Whatever was asked has an answer by now, or nobody waits for it. */
  settle(): void {
    this.#asked?.abort();
    this.#asked = null;
  }

  async #answer(taskId: string, onInput: NonNullable<RunOptions['onInput']>, settled: AbortSignal): Promise<void> {
    const { signal } = this.#run;
    const task = await this.#capsule.task(taskId, { signal });
    // The frame was of a question that has been answered.
    if (task.state !== 'input-required' || settled.aborted) return;
    const answer = await onInput({ prompt: task.prompt ?? '', task, signal: settled });
    // A message that nobody waits for would start another task.
    if (answer === null || settled.aborted) return;
    await this.#capsule.send(answer, { contextId: task.contextId, signal });
  }
}
