import { expect, it } from 'vitest';

import type { TraceEvent } from '@svc/record/trace/events.ts';
import { CallLines } from './call-lines.ts';

const change: TraceEvent = {
  event_type: 'file_change',
  task_id: 't',
  tool_name: 'editor',
  path: 'a.txt',
  change: 'created',
  before: null,
  after: { bytes: 1 },
};
const step = { event_type: 'plan_step', name: 'one' } as unknown as TraceEvent;

it('a line about a changed file waits for the line of its call, or of its step of a plan', () => {
  const written: string[] = [];
  const lines = new CallLines(({ event_type }) => void written.push(event_type));
  lines.record(change);
  expect(written).toEqual([]);
  lines.record(step);
  expect(written).toEqual(['plan_step', 'file_change']);
  lines.record(change);
  lines.settle();
  lines.settle();
  expect(written).toEqual(['plan_step', 'file_change', 'file_change']);
});

it('the first failure of a call is the one that it fails with', () => {
  const lines = new CallLines(() => {});
  expect(lines.record(step)).toBe(true);
  lines.throwIfFailed();
  lines.fail(new Error('first'));
  lines.fail(new Error('second'));
  expect(lines.record(change)).toBe(false);
  expect(() => lines.throwIfFailed()).toThrow('first');
});
