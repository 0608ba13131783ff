import { describe, expect, it } from 'vitest';

import { LiveState } from './live-state.ts';

describe('the live state', () => {
  const frame = (
    event: string,
    data: object,
    id?: string,
  ): { readonly event: string; readonly data: string; readonly id: string | undefined } => ({
    event,
    data: JSON.stringify(data),
    id,
  });
  const task = { task_id: 't' };

  it('holds a call with the end of its output, until it comes back', () => {
    const state = new LiveState();
    state.take(frame('snapshot', { tasks: [{ task_id: 't', state: 'working', question: null }], model: 'm' }), 1);
    state.take(
      frame('call_start', { ...task, turn: 2, call_id: 'c', tool_name: 'make', arguments: { args: ['-j'] } }),
      2,
    );
    state.take(
      frame('output', { ...task, turn: 2, call_id: 'c', tool_name: 'make', text: 'x'.repeat(3000), left_out: 0 }),
      3,
    );
    const [call] = state.now(12)?.calls ?? [];
    expect([call?.name, call?.about, call?.tail.length, call?.ms]).toEqual(['make', '{"args":["-j"]}', 2048, 10]);
    state.take(frame('call_end', { ...task, turn: 2, call_id: 'c', tool_name: 'make' }), 4);
    expect(state.now(12)?.calls).toEqual([]);
  });

  it('holds a call that waits for approval in printable ASCII, cut to what a page shows', () => {
    const state = new LiveState();
    const argv = ['echo', '\u202Eevil\u0430\u200B', ...Array.from({ length: 60 }, () => 'w'.repeat(1000))];
    const approval = {
      id: 'apr_1',
      digest: 'sha256:ab',
      expires_at: 5,
      capsule: ['lead', 'a\u001B[2J'],
      rule: 'approvals.rules[0]',
      effect: { kind: 'command', argv, cwd: '.' },
      options: ['once', 'everything'],
    };
    state.take(frame('question', { ...task, wait_id: 'q', prompt: 'x', approval }), 1);
    const shown = state.now(2)?.question?.approval;
    expect(shown).toMatchObject({
      id: 'apr_1',
      digest: 'sha256:ab',
      of: 'a\\u001b[2J',
      asker: 'lead > a\\u001b[2J wants to run this, and approvals.rules[0] asks you:',
      options: ['once'],
    });
    expect(shown?.rows.slice(0, 2)).toEqual(['"echo"', '"\\u{202e}evil\\u{430}\\u{200b}"']);
    expect([shown?.rows.length, shown?.rows.at(-1)]).toEqual([41, '... 23 more; svc approve --list --json has all']);
    expect(Math.max(...(shown?.rows ?? []).map((row) => row.length))).toBeLessThan(450);
    state.take(frame('question_settled', { ...task, wait_id: 'q', how: 'canceled' }), 3);
    expect(state.now(4)?.question).toBe(null);
  });

  it('holds a question until it is settled, also where the connection began later', () => {
    const state = new LiveState();
    state.take(
      frame('snapshot', {
        tasks: [{ task_id: 't', state: 'input-required', question: { wait_id: 'q', prompt: 'Which?' } }],
      }),
      1,
    );
    expect(state.now(12)?.question).toEqual({ task: 't', wait: 'q', prompt: 'Which?' });
    state.take(frame('question_settled', { ...task, wait_id: 'other', end: 'answered' }), 2);
    expect(state.now(12)?.question?.wait).toBe('q');
    state.take(frame('question_settled', { ...task, wait_id: 'q', end: 'answered' }), 3);
    expect(state.now(12)?.question).toBe(null);
  });

  it('holds the text of the turn that is being written alone, also where the frames of earlier turns come first', () => {
    const state = new LiveState();
    state.take(frame('text', { id: 't', text: 'The first turn.', final: false }, '1'), 1);
    state.take(frame('text', { id: 't', text: '', final: true }, '2'), 2);
    expect(state.now(3)?.text).toBe('');
    state.take(frame('text', { id: 't', text: 'The second', final: false }, '3'), 3);
    expect(state.now(4)).toMatchObject({ text: 'The second', task: 't' });
  });

  it('keeps a bounded end of a text', () => {
    const state = new LiveState();
    for (let piece = 0; piece < 100; piece += 1)
      state.take(frame('text', { id: 't', text: 'y'.repeat(1000), final: false }, String(piece)), 1);
    expect(state.now(1)?.text.length).toBe(16_384);
  });

  it.each([
    ['of more values than a frame has', `{"task_id":"t","call_id":"c","arguments":[${'0,'.repeat(40_000)}0]}`],
    ['that nests too deep', `{"task_id":"t","call_id":"c","arguments":${'['.repeat(600)}${']'.repeat(600)}}`],
    ['that is too long', `{"task_id":"t","call_id":"c","arguments":"${'a'.repeat(256 * 1024)}"}`],
    ['that is no object', '["t"]'],
    ['that is cut', '{"task_id":"t"'],
    ['of a task with a longer id than any', `{"task_id":"${'t'.repeat(1025)}"}`],
    ['of no task', '{"call_id":"c"}'],
  ])('stays the same after an event %s', (_which, data) => {
    const state = new LiveState();
    state.take({ event: 'call_start', data, id: undefined }, 1);
    expect(state.now(12)?.calls).toEqual([]);
  });

  it('covers tasks with an id, and whole turns', () => {
    const state = new LiveState();
    const tasks = [{ task_id: 7 }, { state: 'submitted' }, { task_id: 't', state: 'working' }];
    state.take(frame('snapshot', { tasks: [...tasks, { task_id: 'u', state: 'submitted' }] }), 1);
    state.take(frame('waiting_for_model', { ...task, turn: 1.5 }), 1);
    state.take(frame('text', { id: 'i'.repeat(257), text: 'no' }), 1);
    expect(state.now(1)).toMatchObject({ task: 't', turn: 0, text: '' });
  });

  it('becomes unknown while the capsule is gone', () => {
    const state = new LiveState();
    state.take(frame('snapshot', { tasks: [{ task_id: 't', state: 'working', question: null }], model: 'm' }), 1);
    state.take(frame('capsule-gone', {}), 2);
    expect(state.now(2)).toBe(null);
    state.take(frame('snapshot', { tasks: [], model: 'm' }), 3);
    expect(state.now(3)).toMatchObject({ task: null, model: 'm' });
  });
});
