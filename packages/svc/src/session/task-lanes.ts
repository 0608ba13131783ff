import type { TaskId } from '@svc/protocol/ids.ts';
import type { Task } from './task.ts';

/** Accepted tasks that wait for their turn. */
export class TaskLanes {
  #foreground: Task[] = [];
  #background: Task[] = [];

  get waiting(): number {
    return this.#foreground.length + this.#background.length;
  }

  add(task: Task): void {
    (task.lane === 'foreground' ? this.#foreground : this.#background).push(task);
  }

  /** The next task to run: foreground before background, first in, first out (contracts §7). */
  take(): Task | undefined {
    return this.#foreground.shift() ?? this.#background.shift();
  }

  /** Takes a task out before it started; undefined when it does not wait here. */
  remove(id: TaskId): Task | undefined {
    const task = this.all().find((candidate) => candidate.id === id);
    this.#foreground = this.#foreground.filter((candidate) => candidate !== task);
    this.#background = this.#background.filter((candidate) => candidate !== task);
    return task;
  }

  clear(): void {
    this.#foreground = [];
    this.#background = [];
  }

  all(): Task[] {
    return [...this.#foreground, ...this.#background];
  }
}
