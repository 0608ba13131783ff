/** Cancels tasks for clients of the Model Context Protocol. */

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import type { TaskRecord } from '@svc/session/task/task-record.ts';
import type { Caller } from './caller.ts';

/** Resolves when the task is over, or after the time that an answer to a cancel is held back. Nothing happens to one that is over. */
export async function cancelTask(
  { task, isSettled }: TaskRecord,
  { core: { session }, principal }: Pick<Caller, 'core' | 'principal'>,
): Promise<void> {
  if (isSettled) return;
  try {
    await session.board.cancel(task, principal.name);
  } catch (error) {
    if (!(error instanceof Diagnostic)) throw error;
    // The trace cannot be written: the session cannot go on (D1 "Task states" 2).
    session.trap(error);
  }
}

/** What is said of a task that is not there, or not the caller's. */
export function refusedTask(id: string): string {
  return `there is no task ${id}; the session may have forgotten it`;
}
