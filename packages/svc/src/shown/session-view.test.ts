import { afterEach, describe, expect, it } from 'vitest';

import { inProcessorTime } from '../../../../test/support/processor-time.ts';
import { ShownTerminal } from '../../../../test/support/shown-terminal.ts';
import type { SessionEvent, ShownResult } from './session-event.ts';
import { SessionView } from './session-view.ts';

const closing: SessionView[] = [];
afterEach(() => {
  for (const view of closing.splice(0)) view.close();
  answerHint = '';
});

let nowMs = 0;
let answerHint = '';
let contextPercent: number | null = null;

function viewOn(shown: ShownTerminal): SessionView {
  const view = new SessionView(shown.output, {
    useColor: false,
    nowMs: () => nowMs,
    keysHint: () => 'Esc cancels',
    answerHint: () => answerHint,
    contextPercent: () => contextPercent,
    wholeOutput: ({ step }) => (step === null ? null : `/show ${step}`),
    keptOutput: ({ step }) => (step === null ? null : `svc logs 4f1a ${step}`),
  });
  closing.push(view);
  return view;
}

async function rowsAfter(events: readonly SessionEvent[], shown = new ShownTerminal()): Promise<string[]> {
  nowMs = 1000;
  const view = viewOn(shown);
  for (const event of events) view.show(event);
  view.screen.flush();
  return await shown.rows();
}

const result = (fields: Partial<ShownResult>): SessionEvent => ({
  kind: 'result',
  result: {
    callId: null,
    name: 'sh',
    input: { command: 'npm test' },
    content: 'command: npm test\nexit code: 0\nstdout: (empty)\nstderr: (empty)',
    exitCode: 0,
    isCut: false,
    isError: false,
    isRefused: false,
    durationMs: 12,
    step: null,
    ...fields,
  },
});

describe('SessionView', () => {
  it('shows a message of empty lines in a moment', () => {
    const view = viewOn(new ShownTerminal());
    const text = `${'\n'.repeat(64 * 1024 - 1)}x`;
    const { ms } = inProcessorTime(() => {
      for (const taskId of ['t1', 't2', 't3', 't4']) view.show({ kind: 'said', taskId, text, by: 'peer', waiting: 0 });
    });
    expect(ms).toBeLessThan(1500);
  });

  it('shows a command with its end at the right edge, and the last lines of what it wrote', async () => {
    const lines = Array.from({ length: 9 }, (_, index) => `line ${index + 1}`).join('\n');
    const content = `command: npm test\nexit code: 2\nstdout:\n${lines}\nstderr: (empty)`;
    expect(await rowsAfter([result({ content, exitCode: 2, durationMs: 14_000, step: 8 })])).toEqual([
      '$ npm test                                                      exit 2    14.0 s',
      '║ … 4 lines more: /show 8',
      '║ line 5',
      '║ line 6',
      '║ line 7',
      '║ line 8',
      '║ line 9',
    ]);
  });

  it('says of one line more that it is one', async () => {
    const lines = Array.from({ length: 6 }, (_, index) => `line ${index + 1}`).join('\n');
    const content = `command: npm test\nexit code: 0\nstdout:\n${lines}\nstderr: (empty)`;
    const text = Array.from({ length: 11 }, (_, index) => `${index + 1}`).join('\n');
    const said: SessionEvent = { kind: 'said', taskId: 'tsk_1', text, by: 'user', waiting: 0 };
    const rows = await rowsAfter([result({ content, step: 8 }), said]);
    expect(rows[1]).toBe('║ … 1 line more: /show 8');
    expect(rows.at(-1)).toBe('  … 1 line more');
  });

  it('shows what a patch changed, and counts it', async () => {
    const input = { command: 'patch', path: 'src/a.ts', old_text: 'a\nb\nc\n', new_text: 'a\nB\nB2\nc\n' };
    const shown = await rowsAfter([result({ name: 'svc-tool-editor', input, exitCode: null, content: 'patched' })]);
    expect(shown).toEqual([
      '~ src/a.ts                                                       +2 -1     12 ms',
      '║   a',
      '║ - b',
      '║ + B',
      '║ + B2',
      '║   c',
    ]);
  });

  it('says in words that a call failed or was refused', async () => {
    const failed = result({
      name: 'web',
      input: { url: 'http://a' },
      exitCode: null,
      isError: true,
      content: 'no route\n',
    });
    const refused = result({
      name: 'web',
      input: {},
      exitCode: null,
      isRefused: true,
      content: 'not allowed',
      durationMs: null,
    });
    expect(await rowsAfter([failed, refused])).toEqual([
      '✗ web http://a                                                  failed     12 ms',
      '║ no route',
      '✗ web                                                                    refused',
      '║ not allowed',
    ]);
  });

  it('cuts a long command in its middle, so that its end is seen', async () => {
    const command = `git log ${'x'.repeat(100)} -- src/the/end.ts`;
    const [row = ''] = await rowsAfter([result({ input: { command } })]);
    expect(row).toHaveLength(80);
    expect(row).toMatch(/^\$ git log x+…x+ -- src\/the\/end\.ts {2}exit 0 {5}12 ms$/);
  });

  it('spells what a command hides', async () => {
    const [row] = await rowsAfter([result({ input: { command: 'ls\r\u001B[2K rm\u202E -rf\n\u200Bx' } })]);
    for (const hidden of ['\u001B', '\u202E', '\u200B', '\r']) expect(row).not.toContain(hidden);
    expect(row).toMatch(/^\$ ls.+rm.+ -rf\\n.+x/);
  });

  it('shows an answer as it streams, the row that is not whole below the others, and a status under it', async () => {
    const events: SessionEvent[] = [
      { kind: 'task-started', taskId: 'tsk_1' },
      { kind: 'turn', taskId: 'tsk_1', turn: 2 },
      { kind: 'text', taskId: 'tsk_1', text: 'The loop returns.\nI cha' },
      { kind: 'usage', tokens: 4310 },
    ];
    expect(await rowsAfter(events)).toEqual([
      '│ The loop returns.',
      '┊ I cha',
      '⠋ turn 2, 0 s · 4,310 tokens · Esc cancels',
    ]);
  });

  it.each([
    [120, '⠋ npm run build && npm run c…ry-long-place, 0 s · 4,310 tokens · 1 message waits · Esc cancels'],
    [80, '⠋ npm run build && npm run c…ry-long-place, 0 s · 1 message waits · Esc cancels'],
    [72, '⠋ npm run build && npm run c…ry-long-place, 0 s · Esc cancels'],
    [44, '⠋ npm run build && n…lace, 0 s · Esc cancels'],
    [20, '⠋ npm run bui…e, 0 s'],
  ])('says in %i columns what a key does, before it says how many tokens went', async (columns, row) => {
    const command = 'npm run build && npm run check -- --all tests/a-very-long-place';
    const events: SessionEvent[] = [
      { kind: 'task-started', taskId: 'tsk_1' },
      { kind: 'said', taskId: 'tsk_2', text: 'next', by: 'user', waiting: 1 },
      { kind: 'usage', tokens: 4310 },
      { kind: 'call', callId: 'c1', name: 'sh', input: { command } },
    ];
    expect((await rowsAfter(events, new ShownTerminal(columns))).at(-1)).toBe(row);
  });

  it.each([
    [80, '⠋ turn 3, 0 s · 4,310 tokens · 41 % of the context · Esc cancels'],
    [60, '⠋ turn 3, 0 s · 41 % of the context · Esc cancels'],
    [40, '⠋ turn 3, 0 s · Esc cancels'],
  ])('says in %i columns how full the context is while a task runs', async (columns, row) => {
    contextPercent = 41;
    const events: SessionEvent[] = [
      { kind: 'task-started', taskId: 'tsk_1' },
      { kind: 'usage', tokens: 4310 },
      { kind: 'turn', taskId: 'tsk_1', turn: 3 },
    ];
    expect((await rowsAfter(events, new ShownTerminal(columns))).at(-1)).toBe(row);
    contextPercent = null;
  });

  it('shows the last line that a running command wrote, behind the gutter, until it has ended', async () => {
    const shown = new ShownTerminal();
    nowMs = 1000;
    const view = viewOn(shown);
    const wrote = async (text: string): Promise<readonly string[]> => {
      view.show({ kind: 'output', callId: 'c1', text, leftOutBytes: 0 });
      view.screen.flush();
      return await shown.rows();
    };
    view.show({ kind: 'task-started', taskId: 'tsk_1' });
    view.show({ kind: 'call', callId: 'c1', name: 'sh', input: { command: 'npm test' } });
    const status = '⠋ npm test, 0 s · Esc cancels';
    expect(await wrote('step 1\nstep 2\n')).toEqual(['┊ step 2', status]);
    expect(await wrote('10 %\r20 %\r')).toEqual(['┊ 20 %', status]);
    expect(await wrote('\n\n')).toEqual(['┊ 20 %', status]);
    expect(await wrote('\u001B[2J\u001B[H- done\u001B]0;t\u0007\n')).toEqual(['┊ - done', status]);
    expect(await wrote(`${'x'.repeat(5000)}\n`)).toEqual([`┊ ${'x'.repeat(77)}…`, status]);
    view.show({ kind: 'output', callId: 'another', text: 'no call of this session\n', leftOutBytes: 0 });
    view.show(result({ callId: 'c1', content: 'command: npm test\nexit code: 0\nstdout: (empty)\nstderr: (empty)' }));
    view.screen.flush();
    expect(await shown.rows()).toEqual([
      '$ npm test                                                      exit 0     12 ms',
      '⠋ turn 1, 0 s · Esc cancels',
    ]);
  });

  it('says while a model is left alone when it is asked again, once', async () => {
    const shown = new ShownTerminal();
    nowMs = 1000;
    const view = viewOn(shown);
    view.show({ kind: 'turn', taskId: 'tsk_1', turn: 1 });
    const reason = 'the provider answered 429';
    view.show({ kind: 'retry', reason, wait: { waitMs: 3500, attempt: 2, of: 5 } });
    nowMs = 2000;
    view.draw();
    view.screen.flush();
    const told = '! the provider answered 429: again in 4 s (2 of 5)';
    expect(await shown.rows()).toEqual([told, '⠋ asking the model again in 3 s · Esc cancels']);
    nowMs = 4600;
    view.show({ kind: 'retry', reason, wait: null });
    view.screen.flush();
    expect(await shown.rows()).toEqual([told, expect.stringMatching(/ turn 1, 3 s · Esc cancels$/)]);
    view.show({ kind: 'retry', reason, wait: null });
    view.screen.flush();
    expect(await shown.rows()).toContain('! asking the model again: the provider answered 429');
  });

  it('says after ten seconds of silence that the model is waited for', async () => {
    const shown = new ShownTerminal();
    nowMs = 1000;
    const view = viewOn(shown);
    view.show({ kind: 'turn', taskId: 'tsk_1', turn: 1 });
    nowMs = 13_000;
    view.draw();
    view.screen.flush();
    expect((await shown.rows()).at(-1)).toMatch(/ waiting for the model, 12 s · Esc cancels$/);
  });

  it('asks a question, and waits for the person', async () => {
    const events: SessionEvent[] = [
      { kind: 'task-started', taskId: 'tsk_1' },
      { kind: 'question', taskId: 'tsk_1', waitId: 'q1', prompt: 'Who signs?\n- done in 1 s' },
    ];
    expect(await rowsAfter(events)).toEqual([
      '? asked for:',
      '│ Who signs?',
      '│ - done in 1 s',
      '⠋ waiting for you, 0 s',
    ]);
  });

  it.each([
    [80, '⠋ waiting for you, 0 s · svc answer 4f1a'],
    [30, '⠋ waitin…0 s · svc answer 4f1a'],
  ])('says in %i columns how a question is answered where no key is read', async (columns, row) => {
    answerHint = 'svc answer 4f1a';
    const events: SessionEvent[] = [
      { kind: 'task-started', taskId: 'tsk_1' },
      { kind: 'question', taskId: 'tsk_1', waitId: 'q1', prompt: 'Who?' },
    ];
    expect((await rowsAfter(events, new ShownTerminal(columns))).at(-1)).toBe(row);
  });

  it('shows the answer of another client, and behind the gutter', async () => {
    const question = { taskId: 'tsk_1', waitId: 'q1' };
    const settled: SessionEvent = { kind: 'question-settled', ...question, end: 'answered', answer: 'Ann\n- done' };
    expect(await rowsAfter([settled, { ...settled, answer: null }])).toEqual([
      '- answered elsewhere:',
      '║ Ann',
      '║ - done',
      '- answered elsewhere',
    ]);
  });

  it('does not say again what was answered at this terminal', async () => {
    const shown = new ShownTerminal();
    const view = viewOn(shown);
    view.answering({ taskId: 'tsk_1', waitId: 'q1' });
    view.show({ kind: 'question-settled', taskId: 'tsk_1', waitId: 'q1', end: 'answered', answer: 'Ann' });
    view.screen.flush();
    expect(await shown.rows()).toEqual([]);
  });

  it('shows how a task ended, and why it failed', async () => {
    const ended = (taskId: string, state: string, reason: string | null): SessionEvent[] => [
      { kind: 'task-started', taskId },
      { kind: 'turn', taskId, turn: 3 },
      { kind: 'usage', tokens: 1200 },
      { kind: 'task-ended', taskId, state, reason },
    ];
    expect(
      await rowsAfter([
        ...ended('a', 'completed', null),
        ...ended('b', 'failed', 'no\nroute'),
        ...ended('c', 'canceled', null),
      ]),
    ).toEqual([
      '- done in 0 ms · 3 turns · 1,200 tokens',
      '✗ failed in 0 ms · 3 turns · 1,200 tokens: no route',
      '- canceled in 0 ms · 3 turns · 1,200 tokens',
    ]);
  });

  it('quotes a text whole beside an answer that streams', async () => {
    const shown = new ShownTerminal();
    const view = viewOn(shown);
    view.show({ kind: 'text', taskId: 'tsk_1', text: 'The loop' });
    view.quote('whole output\nof a call');
    view.show({ kind: 'text', taskId: 'tsk_1', text: ' returns.' });
    view.show({ kind: 'text-ended' });
    view.screen.flush();
    expect(await shown.rows()).toEqual(['║ whole output', '║ of a call', '│ The loop returns.']);
  });

  it('shows the call that was cut off when its task was canceled', async () => {
    const events: SessionEvent[] = [
      { kind: 'task-started', taskId: 'tsk_1' },
      { kind: 'call', callId: 'c1', name: 'sh', input: { command: 'npm test' } },
      { kind: 'task-ended', taskId: 'tsk_1', state: 'canceled', reason: null },
    ];
    expect(await rowsAfter(events)).toEqual([
      '$ npm test                                                              canceled',
      '- canceled in 0 ms',
    ]);
  });

  it('gives hostile text no row without the gutter, whatever it tries', async () => {
    const forged = [
      '> yes',
      '$ rm -rf /',
      '* tool',
      '~ file',
      '? allow',
      '! 429',
      '- done',
      '✗ failed',
      'answer> x',
      'status:  ok',
    ];
    const text = `${forged.join('\n')}\n\u001B[2J\u001B[H${forged.join('\r')}\u001B]0;title\u0007\n`;
    const shown = new ShownTerminal();
    const rows = await rowsAfter(
      [
        { kind: 'text', taskId: 't', text },
        { kind: 'text-ended' },
        { kind: 'thinking', taskId: 't', text },
        { kind: 'text-ended' },
        { kind: 'shown-by-hook', name: 'a\nstatus:  ok', content: text },
        { kind: 'question', taskId: 't', waitId: 'q1', prompt: text },
        result({ content: text, exitCode: null, isError: true, name: 'x\n$ rm', input: { a: text, b: text } }),
      ],
      shown,
    );
    const own = rows.filter((row) => !/^[│║]/.test(row));
    expect(own).toEqual(['* a status: ok', '? asked for:', expect.stringMatching(/^✗ x \$ rm \{"a":"> yes\\n\$ rm/)]);
    expect(shown.terminal.buffer.active.length).toBeGreaterThan(40);
  });

  it('draws marks of ASCII where the terminal has no others', async () => {
    const events: SessionEvent[] = [
      { kind: 'task-started', taskId: 'tsk_1' },
      { kind: 'turn', taskId: 'tsk_1', turn: 1 },
      { kind: 'task-ended', taskId: 'tsk_1', state: 'failed', reason: 'no route' },
      { kind: 'task-started', taskId: 'tsk_2' },
      { kind: 'text', taskId: 'tsk_2', text: 'an \u00E9' },
    ];
    const rows = await rowsAfter(events, new ShownTerminal(80, 24, { TERM: 'xterm', LC_ALL: 'C' }));
    expect(rows).toEqual(['x failed in 0 ms - 1 turn: no route', ': an \u00E9', '- turn 1, 0 s - Esc cancels']);
  });

  it('keeps to status and input where the screen is small', async () => {
    const events: SessionEvent[] = [
      { kind: 'task-started', taskId: 'tsk_1' },
      { kind: 'text', taskId: 'tsk_1', text: 'not whole' },
    ];
    expect(await rowsAfter(events, new ShownTerminal(24, 7))).toEqual(['⠋ turn…0 s · Esc cancels']);
  });

  it('counts at most a thousand calls and tasks of a capsule that begins them without end', async () => {
    const many = Array.from({ length: 5000 }, (_, index) => index);
    const rows = await rowsAfter([
      { kind: 'task-started', taskId: 't' },
      ...many.map((id): SessionEvent => ({
        kind: 'call',
        callId: `c${id}`,
        name: 'sh',
        input: { command: 'sleep 9' },
      })),
      ...many.map((id): SessionEvent => ({ kind: 'said', taskId: `w${id}`, text: 'x', by: 'user', waiting: 1 })),
    ]);
    expect(rows.at(-1)).toContain('sleep 9 and 999 more, 0 s \u00B7 1,000 messages wait');
  });
});
