import { expect, it } from 'vitest';

import { FakeClock } from '../../../test/support/fake-clock.ts';
import { LiveEvents } from './live-events.ts';
import { SessionActivity } from './task/activity.ts';
import type { RequestedCall } from './tools/tool.ts';
import type { Task } from './task/task.ts';

/** The data of the event that a call begins with. */
function begun(call: Omit<RequestedCall, 'id' | 'name'>): unknown {
  const told: string[] = [];
  const activity = new SessionActivity();
  const live = new LiveEvents(
    {
      id: 'ses_1',
      events: { tell: ({ text }) => void told.push(text), subscribeWithEvents: () => {} },
      board: { live: () => [], before: () => 0 },
      skills: { names: [] },
      activity,
      clock: new FakeClock(),
      model: 'm',
      used: { inputTokens: 0, outputTokens: 0 },
    },
    {
      name: 'c',
      version: '1.0.0',
      containment: 'sealed',
      methods: [],
      redact: (text) => text.replaceAll('77777777', '[secret]'),
    },
  );
  live.join({} as Parameters<LiveEvents['join']>[0], null);
  activity.emit({
    kind: 'call-started',
    task: { id: 'tsk_1' } as Task,
    turn: 1,
    call: { id: 'c', name: 'find', ...call },
  });
  return JSON.parse(/\ndata: (.*)\n\n$/.exec(told[0] ?? '')?.[1] ?? '');
}

it('a call begins with its arguments as JSON, and as text where JavaScript would round a number of them', () => {
  const of = { task_id: 'tsk_1', turn: 1, call_id: 'c', tool_name: 'find' };
  expect(begun({ input: { id: 7 } })).toEqual({ ...of, arguments: { id: 7 } });
  expect(begun({ input: { id: 1234567890123456800, of: 1 }, digits: { '/id': '1234567890123456789' } })).toEqual({
    ...of,
    arguments_text: '{"id":1234567890123456789,"of":1}',
  });
  expect(begun({ input: { id: 77777777123456790000 }, digits: { '/id': '77777777123456789012' } })).toEqual({
    ...of,
    arguments_text: '{"id":[secret]123456789012}',
  });
});
