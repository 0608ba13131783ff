import * as kinds from '@svc/protocol/row-kinds.ts';
import { eventTypes } from '@svc/view-server/rows/event-kinds.ts';
import { lineDiff } from '@svc/view-server/rows/line-diff.ts';
import { describe, expect, it } from 'vitest';

import { folded } from './folded-lines.ts';
import { labelOf, laneOfKind, lanes } from './kinds.ts';

describe('the lines of a change', () => {
  it('fold where they are far from any change', () => {
    const lines = lineDiff('1\n2\n3\n4\n5\n6\n7\n8\n9\n', '1\n2\n3\n4\n5\n6\n7\n8\nnine\n');
    expect(folded(lines)).toEqual([5, [' ', '6'], [' ', '7'], [' ', '8'], ['-', '9'], ['+', 'nine']]);
  });
});

describe('the kinds of rows', () => {
  it('have the words and the lane of the event that the server makes them of', () => {
    const shown = eventTypes.map(
      (type, kind) => `${type}: ${labelOf(kind)}, ${lanes[laneOfKind[kind] ?? -1] ?? 'none'}`,
    );
    expect(shown).toEqual([
      'session_start: Session, none',
      'task_received: Task, none',
      'task_start: Attempt, none',
      'inference: Model, Model',
      'tool_call: Tool, Tools',
      'skill_call: Skill, Tools',
      'shell: Command, Commands',
      'background_command: Background, Commands',
      'task_input_required: Question, Waiting',
      'compaction: Compaction, Model',
      'hook_error: Hook, none',
      'task_reopened: Reopened, none',
      'task_canceled: Canceled, none',
      'task_end: Task end, none',
      'spend_ceiling_reached: Ceiling, none',
      'resource_list: Files asked for, none',
      'resource_read: File asked for, none',
      'resource_refusals: Refusals, none',
      'peer_handle_mint: Shared file, none',
      'peer_handle_redeem: Shared file, none',
      'peer_file_fetch: Fetched file, none',
      'delegation: Child, Children',
      'plan_start: Plan, none',
      'plan_step: Plan step, Tools',
      'plan_end: Plan, none',
      'logs_limit_reached: Logs, none',
      'push_lost: Notifications, none',
      'session_end: Session end, none',
      'refusal: Refusal, none',
      'refusals: Refusals, none',
      'egress: Connection, none',
      'file_change: File, none',
      'retry: Retry, none',
      'approval: Approval, Waiting',
      'plan_step shell: Plan step, Commands',
      'plan_step capsule: Plan step, Children',
      'inference of a hook: Model, Model',
      'session_stop: Stop, none',
    ]);
    expect([labelOf(kinds.damaged), labelOf(kinds.unknown), labelOf(eventTypes.length)]).toEqual([
      'Damaged line',
      'Step',
      'Step',
    ]);
  });

  it('have names that stand at their places', () => {
    const named = Object.entries(kinds).filter(([, kind]) => typeof kind === 'number' && kind < kinds.damaged);
    expect(named.map(([name, kind]) => `${name}: ${eventTypes[kind as number]}`).toSorted()).toEqual([
      'background: background_command',
      'canceled: task_canceled',
      'ceiling: spend_ceiling_reached',
      'child: delegation',
      'command: shell',
      'compaction: compaction',
      'egress: egress',
      'fileChange: file_change',
      'hookError: hook_error',
      'hookModel: inference of a hook',
      'model: inference',
      'planChild: plan_step capsule',
      'planCommand: plan_step shell',
      'planStep: plan_step',
      'question: task_input_required',
      'refusal: refusal',
      'refusals: refusals',
      'reopened: task_reopened',
      'sessionEnd: session_end',
      'sessionStart: session_start',
      'skill: skill_call',
      'taskEnd: task_end',
      'taskReceived: task_received',
      'taskStart: task_start',
      'tool: tool_call',
    ]);
  });
});
