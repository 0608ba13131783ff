import { describe, expect, it } from 'vitest';

import { isTerminal, step, type TaskEvent, type TaskState } from './task.ts';

const everyState: readonly TaskState[] = ['submitted', 'working', 'input-required', 'completed', 'failed', 'canceled'];

/** The table of D1 "Task states", row for row: from, trigger, to, message, final. */
const rows: readonly [string, TaskState, TaskEvent, TaskState, string | null, string | null, boolean | null][] = [
  [
    'a queued task starts its first turn',
    'submitted',
    { kind: 'turn-started', turn: 1 },
    'working',
    'working',
    'inference turn 1',
    false,
  ],
  [
    'each further turn is counted from 1 [D1-STATE-01, D1-STATE-02]',
    'working',
    { kind: 'turn-started', turn: 2 },
    'working',
    'working',
    'inference turn 2',
    false,
  ],
  [
    'a tool asks for input [D1-STATE-03, D1-STATE-04]',
    'working',
    { kind: 'input-requested', prompt: 'Which one?' },
    'input-required',
    'input-required',
    'Which one?',
    false,
  ],
  [
    'the wait is answered [D1-STATE-05]',
    'input-required',
    { kind: 'input-answered' },
    'working',
    'working',
    'resumed',
    false,
  ],
  [
    'the wait times out, and the task goes on [D1-STATE-06, D1-STATE-08]',
    'input-required',
    { kind: 'input-timed-out' },
    'working',
    'failed',
    'input-timeout',
    false,
  ],
  [
    'the session ends normally [D1-STATE-09]',
    'working',
    { kind: 'completed' },
    'completed',
    'completed',
    'session ended',
    true,
  ],
  [
    'the driver or its response fails [D1-STATE-10]',
    'working',
    { kind: 'failed', error: 'no model' },
    'failed',
    'failed',
    'session ended',
    true,
  ],
  [
    'the driver cannot be called [D1-STATE-11]',
    'working',
    { kind: 'unavailable', error: 'no such file' },
    'failed',
    'failed',
    'driver invocation failed: no such file',
    true,
  ],
  [
    'all turns are used [D1-STATE-12]',
    'working',
    { kind: 'turns-exhausted', maxTurns: 10 },
    'failed',
    'failed',
    'max_turns exceeded: 10 of 10 inference turns used',
    true,
  ],
  [
    'a spend ceiling stops it [D1-STATE-13]',
    'working',
    { kind: 'spend-refused', refusal: { ceiling: 100, spent: 60, held: 0, estimate: 50 } },
    'failed',
    'failed',
    'spend ceiling reached: 60 of 100 session tokens used, the next call may need 50',
    true,
  ],
  [
    'a running task is canceled [D1-STATE-14]',
    'working',
    { kind: 'canceled' },
    'canceled',
    'canceled',
    'task canceled',
    true,
  ],
  ['a waiting task is canceled', 'input-required', { kind: 'canceled' }, 'canceled', 'canceled', 'task canceled', true],
  [
    'a queued task is canceled [D1-STATE-15]',
    'submitted',
    { kind: 'canceled' },
    'canceled',
    'canceled',
    'task canceled before it started',
    true,
  ],
  ['a hook reopens a completed task', 'completed', { kind: 'reopened' }, 'working', null, null, null],
  [
    'an error the loop does not report writes no status [D1-STATE-23]',
    'working',
    { kind: 'malformed', error: 'no JSON' },
    'failed',
    null,
    null,
    null,
  ],
  [
    'a session that cannot go on writes none either',
    'submitted',
    { kind: 'broke', error: 'disk full' },
    'failed',
    null,
    null,
    null,
  ],
];

describe('the state table', () => {
  it.each(rows)('%s', (_name, from, event, to, state, message, final) => {
    const transition = step(from, event);
    expect(transition.state).toBe(to);
    expect(transition.announcement).toEqual(state === null ? null : { state, message, final });
  });

  it('marks exactly the ends as final [D1-STATE-21, D1-STATE-22]', () => {
    const finals = rows
      .map(([, from, event]) => step(from, event).announcement)
      .filter((announcement) => announcement !== null)
      .map(({ state, message, final }) => `${state} ${message.slice(0, 13)} ${final}`);
    expect(finals).toEqual([
      'working inference tur false',
      'working inference tur false',
      'input-required Which one? false',
      'working resumed false',
      'failed input-timeout false',
      'completed session ended true',
      'failed session ended true',
      'failed driver invoca true',
      'failed max_turns exc true',
      'failed spend ceiling true',
      'canceled task canceled true',
      'canceled task canceled true',
      'canceled task canceled true',
    ]);
  });

  it('lets only a reopening leave a terminal state', () => {
    const events = rows.map(([, , event]) => event).filter((event) => event.kind !== 'reopened');
    for (const state of ['completed', 'failed', 'canceled'] as const) {
      for (const event of events) expect(() => step(state, event)).toThrow(`a task that is ${state} cannot meet`);
    }
  });

  it('has three terminal states', () => {
    expect(everyState.filter(isTerminal)).toEqual(['completed', 'failed', 'canceled']);
  });

  it('refuses to reopen what is not completed', () => {
    for (const state of everyState.filter((each) => each !== 'completed')) {
      expect(() => step(state, { kind: 'reopened' })).toThrow('cannot meet reopened');
    }
  });
});
