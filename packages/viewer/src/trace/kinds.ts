/** The kinds of rows that a trace has: what a person calls them, and in which lane of the timeline they are drawn. */

import type { JsonObject } from '@svc/protocol/json-object.ts';
import { textIn } from './checked.ts';
import * as kinds from './kind-numbers.ts';
import * as flags from './row-flags.ts';

/** The lanes of the timeline, from top to bottom. */
export const lanes = ['Model', 'Tools', 'Commands', 'Children', 'Waiting'] as const;

const [model, tools, commands, children, waiting, none] = [0, 1, 2, 3, 4, -1];

/** The `event_type` of lines, what a person calls them, and their lane. A row has the place of its kind in this list. */
const known: readonly (readonly [type: string, label: string, lane: number])[] = [
  ['session_start', 'Session', none],
  ['task_received', 'Task', none],
  ['task_start', 'Attempt', none],
  ['inference', 'Model', model],
  ['tool_call', 'Tool', tools],
  ['skill_call', 'Skill', tools],
  ['shell', 'Command', commands],
  ['background_command', 'Background', commands],
  ['task_input_required', 'Question', waiting],
  ['compaction', 'Compaction', model],
  ['hook_error', 'Hook', none],
  ['task_reopened', 'Reopened', none],
  ['task_canceled', 'Canceled', none],
  ['task_end', 'Task end', none],
  ['spend_ceiling_reached', 'Ceiling', none],
  ['resource_list', 'Files asked for', none],
  ['resource_read', 'File asked for', none],
  ['resource_refusals', 'Refusals', none],
  ['peer_handle_mint', 'Shared file', none],
  ['peer_handle_redeem', 'Shared file', none],
  ['peer_file_fetch', 'Fetched file', none],
  ['delegation', 'Child', children],
  ['plan_start', 'Plan', none],
  ['plan_step', 'Plan step', tools],
  ['plan_end', 'Plan', none],
  ['logs_limit_reached', 'Logs', none],
  ['push_lost', 'Notifications', none],
  ['session_end', 'Session end', none],
  ['refusal', 'Refusal', none],
  ['refusals', 'Refusals', none],
  ['egress', 'Connection', none],
  ['file_change', 'File', none],
  ['retry', 'Retry', none],
  ['approval', 'Approval', waiting],
  ['plan_step shell', 'Plan step', commands],
  ['plan_step capsule', 'Plan step', children],
  ['inference of a hook', 'Model', model],
  ['session_stop', 'Stop', none],
];

/** A line that is no JSON object, or one without a type. */
export const damagedKind = 254;
/** A line of a type that this page does not know. */
export const unknownKind = 255;

const numbers = new Map(known.map(([type], index) => [type, index]));

/** The kind of an event; `unknownKind` for one of a later version. What a step of a plan runs is part of its kind, and whether a hook asked the model. */
export function kindOf(type: string, { kind: runs, hook_name: hook }: JsonObject): number {
  const kind = numbers.get(type) ?? unknownKind;
  if (kind === kinds.model && hook !== undefined) return kinds.hookModel;
  return kind === kinds.planStep ? (numbers.get(`plan_step ${textIn(runs)}`) ?? kind) : kind;
}

/** The lane of each kind; -1 for one that is in none. */
export const laneOfKind: Int8Array = new Int8Array(256).fill(none);
for (const [index, [, , lane]] of known.entries()) laneOfKind[index] = lane;

export function labelOf(kind: number): string {
  return known[kind]?.[1] ?? (kind === damagedKind ? 'Damaged line' : 'Step');
}

/** A call of the model's answer: it has a place of its own in the journal. */
export function isCall(kind: number): boolean {
  return kind === kinds.tool || kind === kinds.skill || kind === kinds.command;
}

export function isModel(kind: number): boolean {
  return kind === kinds.model || kind === kinds.hookModel;
}

export function isPlanStep(kind: number): boolean {
  return kind === kinds.planStep || kind === kinds.planCommand || kind === kinds.planChild;
}

/** Rows that "Failed only" leaves; `exited` is a command that ended with another code than 0, as its detail says first. */
export const wentWrong: number = flags.failed | flags.refused | flags.exited;
