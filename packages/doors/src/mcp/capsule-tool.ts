/** The one tool that a capsule is to clients of the Model Context Protocol, and what a call of it comes to. */

import type { CallToolResult, Tool } from '@modelcontextprotocol/server';

import { rejectedMessage } from '@svc/protocol/frames.ts';
import { type JsonObject, isJsonObject } from '@svc/protocol/json-object.ts';
import type { TaskRecord } from '@svc/session/task/task-record.ts';
import type { Task } from '@svc/session/task/task.ts';
import { holdsWholeText } from '../core/bad-input.ts';

/** What is known of a capsule before it runs. */
export interface IntroducedCapsule {
  readonly name: string;
  readonly version: string;
  /** It is null where the manifest has none. */
  readonly description: string | null;
}

/** The capabilities that clients see. */
export const servedCapabilities = {
  tools: {},
  resources: {},
  extensions: { 'io.modelcontextprotocol/tasks': {} },
} as const;

/** The definition of the tool. */
export function capsuleTool({ name, description }: IntroducedCapsule): Tool {
  const what = description === null || description === '' ? '' : ` ${description}`;
  return {
    name,
    description:
      `Gives a task to the agent ${name} and returns what came of it.${what} When the state of the result is input-required, ` +
      'the agent asks what the text says: call again with that task_id and the answer as task.',
    inputSchema: {
      type: 'object',
      properties: {
        task: { type: 'string', description: 'What to do, or the answer to a question of the agent.' },
        context_id: { type: 'string', description: 'The context_id of an earlier result, to go on from it.' },
        task_id: { type: 'string', description: 'The task_id of a result that is input-required, to answer it.' },
      },
      required: ['task'],
    },
    outputSchema: {
      type: 'object',
      properties: {
        task_id: { type: 'string' },
        context_id: { type: 'string' },
        state: { type: 'string', enum: ['completed', 'failed', 'canceled', 'rejected', 'input-required'] },
        text: { type: 'string' },
      },
      required: ['task_id', 'context_id', 'state', 'text'],
    },
  };
}

export interface CallArguments {
  readonly task: string;
  readonly contextId: string | null;
  readonly taskId: string | null;
}

const maxId = 256;
const printable = /^[^\p{Cc}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}]+$/u;

/** What the tool is called with; a text says what is wrong with it, for the model that calls. */
export function parseCallArguments(given: unknown): CallArguments | string {
  if (!isJsonObject(given)) return 'the arguments must be an object with task';
  const { task } = given;
  if (typeof task !== 'string') return 'task must be a string';
  if (!holdsWholeText(given)) return 'texts must hold whole characters';
  const contextId = idOf(given, 'context_id');
  const taskId = idOf(given, 'task_id');
  if (contextId === undefined) return `context_id must be 1 to ${maxId} printable characters`;
  if (taskId === undefined) return `task_id must be 1 to ${maxId} printable characters`;
  return { task, contextId, taskId };
}

/** Returns null where it is absent or empty, as models without an id write it; undefined for an invalid one. */
function idOf(given: JsonObject, key: string): string | null | undefined {
  const id = given[key];
  if (id === undefined || id === null || id === '') return null;
  return typeof id === 'string' && id.length <= maxId && printable.test(id) ? id : undefined;
}

/** What came of a task, or what it asks. */
export function taskResult(record: TaskRecord): CallToolResult {
  const { id, contextId, state } = record;
  const isError = state === 'failed' || state === 'canceled';
  return resultOf({ task_id: id, context_id: contextId, state, text: textOf(record) }, isError);
}

/** There was no room for the task: nobody knows of it afterwards. */
export function rejectedResult({ id, contextId }: Pick<Task, 'id' | 'contextId'>): CallToolResult {
  return resultOf({ task_id: id, context_id: contextId, state: 'rejected', text: rejectedMessage }, true);
}

/** What a call came to that is not sound, for the model to read. */
export function mistakenCall(why: string): CallToolResult {
  return { content: [{ type: 'text', text: why }], isError: true };
}

function textOf({ state, response, said }: TaskRecord): string {
  if (state === 'completed') return (response ?? '').toWellFormed();
  const [part] = said?.parts ?? [];
  return part !== undefined && 'text' in part ? part.text : (response ?? '').toWellFormed();
}

function resultOf(structuredContent: Record<string, string>, isError: boolean): CallToolResult {
  return { content: [{ type: 'text', text: structuredContent['text'] ?? '' }], structuredContent, isError };
}
