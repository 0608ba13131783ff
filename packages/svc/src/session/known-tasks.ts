import type { TaskId } from '@svc/protocol/ids.ts';
import type { Task } from './task.ts';

/** Ended tasks that can still be asked about. */
const mostEnded = 1000;

/** And what their results may hold together, in characters; the newest is known whatever it holds. */
const mostHeld = 16 * 1024 * 1024;

/** The tasks that `tasks/get` knows: those that live, and the ended ones of late. A capsule that stays up for weeks does not grow. */
export class KnownTasks {
  readonly #tasks = new Map<TaskId, Task>();
  /** Ended ones, the oldest first, with what each holds. */
  readonly #ended = new Map<TaskId, number>();
  #held = 0;

  add(task: Task): void {
    this.#tasks.set(task.id, task);
  }

  find(id: string): Task | undefined {
    return this.#tasks.get(id as TaskId);
  }

  /** Takes note that a task has ended, and forgets the oldest of those that are too many. */
  end({ id, result, statusMessage }: Task): void {
    const holds = (result?.length ?? 0) + (statusMessage?.length ?? 0);
    this.#ended.set(id, holds);
    this.#held += holds;
    for (const [oldest, held] of this.#ended) {
      if (oldest === id || (this.#ended.size <= mostEnded && this.#held <= mostHeld)) return;
      this.#ended.delete(oldest);
      this.#tasks.delete(oldest);
      this.#held -= held;
    }
  }
}
