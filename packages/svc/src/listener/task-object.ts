import type { Task } from '../session/task.ts';
import { isTerminal, type TaskState } from '../session/task-state.ts';
import { rejectedMessage } from '@svc/protocol/frames.ts';

/** A task as `message/send`, `tasks/get` and `tasks/cancel` answer it (contracts §6). */
export interface TaskObject {
  readonly id: string;
  readonly contextId: string;
  readonly status: { readonly state: TaskState | 'rejected'; readonly message?: string };
  readonly artifacts?: readonly TaskArtifact[];
}

export interface TaskArtifact {
  readonly name: 'prompt' | 'response';
  readonly parts: readonly { readonly text: string }[];
}

/** The task as it stands: the prompt while it waits for input, the result text once completed. */
export function taskObject(task: Task): TaskObject {
  const { id, contextId, toldState: state } = task;
  const prompt = task.inputWait?.prompt;
  if (state === 'input-required' && prompt !== undefined) {
    return { id, contextId, status: { state }, artifacts: [textArtifact('prompt', prompt)] };
  }
  if (!isTerminal(state)) return { id, contextId, status: { state } };
  const status = { state, ...(task.statusMessage === null ? {} : { message: task.statusMessage }) };
  if (state !== 'completed') return { id, contextId, status };
  return { id, contextId, status, artifacts: [textArtifact('response', task.result ?? '')] };
}

/** A task there was no room for; `tasks/get` does not know it later. */
export function rejectedTaskObject(task: Task): TaskObject {
  const status = { state: 'rejected', message: rejectedMessage } as const;
  return { id: task.id, contextId: task.contextId, status };
}

function textArtifact(name: TaskArtifact['name'], text: string): TaskArtifact {
  return { name, parts: [{ text }] };
}
