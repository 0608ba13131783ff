/** Which kind of row a line of a trace is. */

import type { JsonObject } from '@svc/protocol/json-object.ts';
import * as kinds from '@svc/protocol/row-kinds.ts';
import { textIn } from './checked.ts';

/** The `event_type` of lines. A row has the place of its kind in this list (`protocol/row-kinds.ts`). */
export const eventTypes: readonly string[] = [
  'session_start',
  'task_received',
  'task_start',
  'inference',
  'tool_call',
  'skill_call',
  'shell',
  'background_command',
  'task_input_required',
  'compaction',
  'hook_error',
  'task_reopened',
  'task_canceled',
  'task_end',
  'spend_ceiling_reached',
  'resource_list',
  'resource_read',
  'resource_refusals',
  'peer_handle_mint',
  'peer_handle_redeem',
  'peer_file_fetch',
  'delegation',
  'plan_start',
  'plan_step',
  'plan_end',
  'logs_limit_reached',
  'push_lost',
  'session_end',
  'refusal',
  'refusals',
  'egress',
  'file_change',
  'retry',
  'approval',
  'plan_step shell',
  'plan_step capsule',
  'inference of a hook',
  'session_stop',
];

const numbers = new Map(eventTypes.map((type, index) => [type, index]));

/** The kind of an event; `unknown` for one of a later version. What a step of a plan runs is part of its kind, and whether a hook asked the model. */
export function kindOf(type: string, { kind: runs, hook_name: hook }: JsonObject): number {
  const kind = numbers.get(type) ?? kinds.unknown;
  if (kind === kinds.model && hook !== undefined) return kinds.hookModel;
  return kind === kinds.planStep ? (numbers.get(`plan_step ${textIn(runs)}`) ?? kind) : kind;
}
