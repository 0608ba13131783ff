/** What one attempt at a task has come to, and what it reports of itself. */

import type { Usage } from '../model/driver-notes.ts';
import { addedUsage } from '../model/spend-meter.ts';
import type { SessionActivity } from '../task/activity.ts';
import { TaskCanceled, type Task, type TaskEvent } from '../task/task.ts';

/** One attempt at a task. */
export class Attempt {
  readonly task: Task;
  /** Where the attempt stands in its session: `<task>/<number>`. */
  readonly place: string;
  readonly #activity: SessionActivity;
  #hasStreamedText = false;
  /** Inference turns begun. */
  turns = 0;
  usage: Usage = { inputTokens: 0, outputTokens: 0 };

  constructor(task: Task, number: number, activity: SessionActivity) {
    this.task = task;
    this.place = `${task.id}/${number}`;
    this.#activity = activity;
  }

  /** Moves the task, and announces the new state where the table of states says so. */
  announce(event: TaskEvent): void {
    const { task } = this;
    const announcement = task.apply(event);
    if (announcement !== null) this.#activity.emit({ kind: 'state-changed', task, event, announcement });
  }

  /** Chunks of a driver or a tool. It sends nothing once the task is canceled. */
  text(text: string): void {
    if (this.task.signal.aborted) return;
    this.#hasStreamedText = true;
    this.#activity.emit({ kind: 'text', task: this.task, text });
  }

  thinking(text: string): void {
    if (this.task.signal.aborted) return;
    this.#activity.emit({ kind: 'thinking', task: this.task, text });
  }

  beginTurn(turn: number): void {
    this.announce({ kind: 'turn-started', turn });
    this.turns = turn;
    this.#hasStreamedText = false;
  }

  /** Waits for the answer of the model. `streamedText` says whether the reply has already been shown. Rejects with `TaskCanceled`. */
  async inferred<T>(answer: Promise<T>): Promise<{ outcome: T; streamedText: boolean }> {
    let isCanceled = true;
    try {
      const outcome = await answer;
      this.throwIfCanceled();
      isCanceled = false;
      return { outcome, streamedText: this.#hasStreamedText };
    } finally {
      this.#activity.emit({ kind: 'inference-left', task: this.task, isCanceled });
    }
  }

  addUsage(usage: Usage): void {
    this.usage = addedUsage(this.usage, usage);
    this.task.usage = addedUsage(this.task.usage, usage);
  }

  throwIfCanceled(): void {
    if (this.task.signal.aborted) throw new TaskCanceled();
  }
}
