/** The task object: a task as a capsule answers with it. */

import { asJsonObject, isJsonObject, stringOr } from './json-object.ts';

/** A task as `message/send`, `tasks/get` and `tasks/cancel` answer it (docs/protocol.md "Task objects"). */
export interface TaskObject {
  readonly id: string;
  readonly contextId: string;
  readonly status: { readonly state: string; readonly message?: string };
  readonly artifacts?: readonly TaskArtifact[];
}

export interface TaskArtifact {
  readonly name: 'prompt' | 'response';
  readonly parts: readonly { readonly text: string }[];
}

/** What a task object says. Null stands for what it leaves out. */
export interface TaskFacts {
  readonly id: string;
  readonly contextId: string;
  readonly state: string;
  readonly message: string | null;
  /** What a task asks for that waits for input. */
  readonly prompt: string | null;
  /** The text of the result. */
  readonly response: string | null;
}

export function encodeTask({ id, contextId, state, message, prompt, response }: TaskFacts): TaskObject {
  const artifacts = [...textArtifact('prompt', prompt), ...textArtifact('response', response)];
  return {
    id,
    contextId,
    status: message === null ? { state } : { state, message },
    ...(artifacts.length === 0 ? {} : { artifacts }),
  };
}

function textArtifact(name: TaskArtifact['name'], text: string | null): TaskArtifact[] {
  return text === null ? [] : [{ name, parts: [{ text }] }];
}

/** Reads a task object; `contextId` is empty when it has none. Returns null for a value without an id or a state. */
export function decodeTask(result: unknown): TaskFacts | null {
  const task = asJsonObject(result);
  const status = asJsonObject(task?.['status']);
  if (typeof task?.['id'] !== 'string' || typeof status?.['state'] !== 'string') return null;
  const artifacts: readonly unknown[] = Array.isArray(task['artifacts']) ? task['artifacts'] : [];
  return {
    id: task['id'],
    contextId: stringOr(task['contextId'], ''),
    state: status['state'],
    message: stringOr(status['message'], null),
    prompt: artifactText(artifacts, 'prompt'),
    response: artifactText(artifacts, 'response'),
  };
}

function artifactText(artifacts: readonly unknown[], name: TaskArtifact['name']): string | null {
  const parts = artifacts.map(asJsonObject).find((each) => each?.['name'] === name)?.['parts'];
  if (!Array.isArray(parts)) return null;
  const texts = parts.map((part) => asJsonObject(part)?.['text']);
  return texts.filter((text) => typeof text === 'string').join('\n');
}

export type ParsedTaskId =
  /** Undefined when none is named. */
  | { readonly kind: 'id'; readonly id: string | undefined }
  /** `problem` names the field. */
  | { readonly kind: 'invalid'; readonly problem: string };

/** The params of `tasks/get` and `tasks/cancel`, which are `{ "id" }`. */
export function parseTaskId(params: unknown): ParsedTaskId {
  if (params === undefined) return { kind: 'id', id: undefined };
  if (!isJsonObject(params)) return { kind: 'invalid', problem: 'params must be an object' };
  const { id } = params;
  return id === undefined || typeof id === 'string'
    ? { kind: 'id', id }
    : { kind: 'invalid', problem: 'id must be a string' };
}
