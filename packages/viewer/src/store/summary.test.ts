import { describe, expect, it } from 'vitest';

import { blockOf } from '../../test/support/block-of.ts';
import { Columns } from './columns.ts';
import { summarize } from './summary.ts';

const event = (type: string, at: number, fields: object = {}): string =>
  JSON.stringify({ event_type: type, event_id: 'e', timestamp: 1_700_000_000_000 + at, task_id: 'tsk_1', ...fields });

describe('the sums of a session', () => {
  it('count what a call spent in a question or a plan once', () => {
    const columns = new Columns();
    const rows = [
      event('task_received', 0, { text: 'Do it.' }),
      event('task_input_required', 3000, { prompt: 'Which?', outcome: 'answered', duration_ms: 2800 }),
      event('tool_call', 3010, { tool_name: 'svc-tool-request-input', duration_ms: 3000 }),
      event('plan_step', 5000, { step_id: 'a', name: 'ls', duration_ms: 900 }),
      event('plan_step', 5000, { step_id: 'b', name: 'wc', duration_ms: 800 }),
      event('tool_call', 5010, { tool_name: 'submit-plan', duration_ms: 1000 }),
      event('tool_call', 6000, { tool_name: 'svc-tool-editor', duration_ms: 500 }),
    ];
    columns.put(blockOf(rows).rows);
    const { byLane, slowest } = summarize(Uint32Array.from(rows.keys()), columns);
    expect(byLane).toEqual([0, 200 + 900 + 800 + 500, 0, 0, 2800]);
    expect(slowest.map(({ row, took }) => [row, took])).toEqual([
      [1, 2800],
      [3, 900],
      [4, 800],
      [6, 500],
      [2, 200],
    ]);
  });

  it('count commands and children of a plan in their own lanes', () => {
    const columns = new Columns();
    const rows = [
      event('plan_step', 5000, { step_id: 'a', kind: 'shell', name: 'ls', duration_ms: 900 }),
      event('plan_step', 5000, { step_id: 'b', kind: 'tool', name: 'editor', duration_ms: 800 }),
      event('delegation', 4000, { delegation_id: 'd', capsule: 'c', status: 'started', step_id: 'c' }),
      event('delegation', 5000, { delegation_id: 'd', capsule: 'c', status: 'ok', step_id: 'c' }),
      event('plan_step', 5000, { step_id: 'c', kind: 'capsule', name: 'c', duration_ms: 1000 }),
      event('tool_call', 5010, { tool_name: 'submit-plan', duration_ms: 3000 }),
    ];
    columns.put(blockOf(rows).rows);
    const { byLane, slowest } = summarize(Uint32Array.from(rows.keys()), columns);
    expect(byLane).toEqual([0, 800 + 300, 900, 1000, 0]);
    expect(slowest.map(({ row }) => row)).toEqual([3, 0, 1, 5]);
  });

  it('count a command that went on in the background once', () => {
    const columns = new Columns();
    const of = { command_name: 'sh' };
    const rows = [
      event('task_received', 0, { text: 'Do it.' }),
      event('background_command', 10_100, { ...of, state: 'moved' }),
      event('shell', 10_110, { ...of, duration_ms: 10_000 }),
      event('background_command', 20_200, { ...of, state: 'moved' }),
      event('shell', 20_210, { ...of, duration_ms: 10_000 }),
      event('background_command', 25_200, { ...of, state: 'ended', exit_code: 0, duration_ms: 15_000 }),
      event('background_command', 30_100, { ...of, state: 'stopped', exit_code: null, duration_ms: 30_000 }),
    ];
    columns.put(blockOf(rows).rows);
    expect(summarize(Uint32Array.from(rows.keys()), columns).byLane[2]).toBe(10_000 + 10_000 + 5000 + 20_000);
  });
});
