import { describe, expect, it } from 'vitest';

import type { FromWorker, StepDetail } from '../messages.ts';
import { JournalIndex } from './journal-index.ts';
import { SessionReader } from './session-reader.ts';
import { detailOf } from './step-detail.ts';

const hash = (digit: string): string => digit.repeat(64);
const gzip = async (text: string): Promise<string> => {
  const bytes = await new Response(new Blob([text]).stream().pipeThrough(new CompressionStream('gzip'))).arrayBuffer();
  return Buffer.from(bytes).toString('base64');
};
const line = (type: string, fields: object): string =>
  JSON.stringify({ event_type: type, event_id: `evt_${type}`, timestamp: 1000, task_id: 'tsk_1', ...fields });

const trace = [
  line('task_received', { text: 'Do it.' }),
  line('task_start', { attempt: 1 }),
  line('inference', { turn: 1, outcome: 'response' }),
  line('shell', { turn: 1, command_name: 'ls' }),
  line('tool_call', {
    turn: 1,
    tool_name: 'svc-tool-editor',
    arguments: { command: 'patch', path: 'a.ts', old_text: 'x', new_text: 'y\nz' },
  }),
  line('task_input_required', { prompt: 'Which?', outcome: 'answered' }),
  line('task_end', { state: 'completed' }),
].join('\n');

const journal = [
  { k: 'open', version: 1, capture: 'content' },
  { k: 'task', id: 'tsk_1' },
  { k: 'start', e: 'tsk_1/1/m1', port: 'model', name: 'm' },
  { k: 'end', e: 'tsk_1/1/m1', ms: 5, value: hash('1') },
  { k: 'start', e: 'tsk_1/1/m1/t1', port: 'shell', name: 'ls' },
  { k: 'end', e: 'tsk_1/1/m1/t1', ms: 5, value: hash('2') },
  { k: 'start', e: 'tsk_1/1/m1/t2', port: 'tool', name: 'svc-tool-editor' },
  { k: 'end', e: 'tsk_1/1/m1/t2', ms: 5, value: hash('3'), error: true },
  { k: 'in', what: 'answer', task: 'tsk_1', text: hash('4') },
  { k: 'task-end', id: 'tsk_1', result: hash('5') },
];
const bodies = {
  [hash('1')]: JSON.stringify({
    kind: 'response',
    response: {
      content: [
        { type: 'thinking', text: 'hm' },
        { type: 'text', text: 'I look.' },
      ],
    },
  }),
  [hash('2')]: JSON.stringify({ content: 'a.ts\n' }),
  [hash('4')]: 'This one.',
  [hash('5')]: 'Done.',
};

async function reading(
  traceText: string,
  lines: readonly object[] = journal,
): Promise<{ readonly reader: SessionReader; readonly told: FromWorker[] }> {
  const told: FromWorker[] = [];
  const reader = new SessionReader((message) => told.push(structuredClone(message)));
  await reader.open({
    kind: 'held',
    trace: await gzip(traceText),
    journal: await gzip(`${lines.map((record) => JSON.stringify(record)).join('\n')}\n`),
    bodies: await gzip(
      Object.entries(bodies)
        .map(([sha256, text]) => `${JSON.stringify({ sha256, text })}\n`)
        .join(''),
    ),
  });
  return { reader, told };
}

describe('a session that is read', () => {
  it('has the texts of its steps at the places that its trace names', async () => {
    const { reader } = await reading(`${trace}\n`);
    expect(await reader.ask('output', 2)).toEqual({
      parts: [
        { kind: 'thinking', text: { kind: 'text', text: 'hm', more: 0 } },
        { kind: 'text', text: { kind: 'text', text: 'I look.', more: 0 } },
      ],
    });
    expect(await reader.ask('output', 3)).toEqual({
      parts: [{ kind: 'output', text: { kind: 'text', text: 'a.ts\n', more: 0 } }],
    });
    expect(await reader.ask('output', 4)).toEqual({
      parts: [
        {
          kind: 'output',
          text: { kind: 'none', why: 'Not in this file: it was exported without texts, or without this one.' },
        },
      ],
    });
    expect(await reader.ask('output', 5)).toEqual({
      parts: [{ kind: 'answer', text: { kind: 'text', text: 'This one.', more: 0 } }],
    });
    expect(await reader.ask('result', 0)).toEqual({ kind: 'text', text: 'Done.', more: 0 });
  });

  it('has the numbers of its steps that svc trace show has', async () => {
    const { reader } = await reading(`${trace}\n`);
    const facts = await Promise.all(
      [1, 2, 3, 4, 5].map(async (row) => ((await reader.ask('detail', row)) as StepDetail).facts[0]),
    );
    expect(facts).toEqual([
      ['Timestamp', expect.any(String)],
      ['Step', '#1'],
      ['Step', '#2'],
      ['Step', '#3'],
      ['Timestamp', expect.any(String)],
    ]);
  });

  it('has the outputs of calls between which a hook asked the model', async () => {
    const asked = line('inference', { turn: 0, hook_name: 'svc-hook-x', outcome: 'response' });
    const [received = '', start = '', model = '', first = '', second = ''] = trace.split('\n');
    const { reader } = await reading(
      `${[received, start, asked, model, asked, second, asked, first].join('\n')}\n`,
      journal.map((record) =>
        'value' in record && record.value === hash('3') ? { ...record, value: hash('4') } : record,
      ),
    );
    expect(
      (await Promise.all([2, 3, 4, 5, 6, 7].map((row) => reader.ask('output', row)))).map((output) =>
        JSON.stringify(output),
      ),
    ).toEqual([
      '{"parts":[]}',
      '{"parts":[{"kind":"thinking","text":{"kind":"text","text":"hm","more":0}},{"kind":"text","text":{"kind":"text","text":"I look.","more":0}}]}',
      '{"parts":[]}',
      '{"parts":[{"kind":"output","text":{"kind":"text","text":"a.ts\\n","more":0}}]}',
      '{"parts":[]}',
      '{"parts":[{"kind":"output","text":{"kind":"text","text":"This one.","more":0}}]}',
    ]);
  });

  it('has the outputs and changes of the steps of a plan, of the call that comes after them', async () => {
    const step = (id: string, fields: object): string =>
      line('plan_step', { step_id: id, outcome: 'passed', ...fields });
    const given = { command: 'write', path: 'out/b', content: 'b\n' };
    const { reader } = await reading(
      [
        line('task_start', { attempt: 1 }),
        line('inference', { turn: 3, outcome: 'response' }),
        line('shell', { turn: 3, command_name: 'ls' }),
        step('list', { kind: 'shell', name: 'ls' }),
        step('keep', { kind: 'tool', name: 'svc-tool-editor', arguments: given }),
        step('lose', { kind: 'tool', name: 'svc-tool-editor', arguments: given, outcome: 'failed' }),
        line('tool_call', { turn: 3, tool_name: 'submit-plan' }),
      ].join('\n') + '\n',
      [
        ...journal.slice(0, 2),
        { k: 'start', e: 'tsk_1/1/m3/t2/slist', port: 'shell', name: 'ls' },
        { k: 'end', e: 'tsk_1/1/m3/t2/slist', ms: 5, value: hash('2') },
      ],
    );
    expect(await reader.ask('output', 3)).toEqual({
      parts: [{ kind: 'output', text: { kind: 'text', text: 'a.ts\n', more: 0 } }],
    });
    expect(await reader.ask('changes', null)).toEqual([{ path: 'out/b', added: 1, removed: 0, rows: [4] }]);
  });

  it('is found in, and says what became of its files', async () => {
    const { reader } = await reading(`${trace}\n`);
    expect([
      await reader.ask('find', 'evt_shell'),
      await reader.ask('find', 'evt_none'),
      await reader.ask('find', '"'),
    ]).toEqual([3, -1, -1]);
    expect(await reader.ask('search', 'editor')).toEqual([4]);
    expect(await reader.ask('changes', null)).toEqual([{ path: 'a.ts', added: 2, removed: 1, rows: [4] }]);
  });

  it('is searched in what it says, not in the words that its lines are made of', async () => {
    const { reader } = await reading(
      [
        line('shell', { is_error: false, exit_code: null, arguments: { command: 'echo "One"' } }),
        line('shell', { content: { text: ['a task of ERROR null \\o/'] } }),
        line('tool_call', { task_id: 'tsk_2', arguments: { deep: [{ path: 'C:\\Temp' }] } }),
        '{"error": task',
        `{"event_type":"x","a":${'['.repeat(10_000)}"error"${']'.repeat(10_000)}}`,
      ].join('\n') + '\n',
    );
    const found = async (words: string): Promise<unknown> => await reader.ask('search', words);
    expect(await found('error')).toEqual([1, 3]);
    expect(await found('task')).toEqual([1, 3]);
    expect(await found('null')).toEqual([1]);
    expect(await found('"one"')).toEqual([0]);
    expect(await found('c:\\temp')).toEqual([2]);
    expect(await found('event_type')).toEqual([]);
  });

  it('is told in one message for each block, the first a small one', async () => {
    const row = `${line('shell', { command_name: 'ls', padding: 'x'.repeat(400) })}\n`;
    const { told } = await reading(row.repeat(20_000));
    const blocks = told.filter(({ kind }) => kind === 'rows');
    expect(blocks.length).toBeLessThanOrEqual(40);
    expect(blocks[0]?.kind === 'rows' ? blocks[0].rows.kind.length : 0).toBeLessThan(1500);
    expect(told.filter(({ kind }) => kind === 'journal').length).toBeGreaterThan(0);
    expect(told.filter(({ kind }) => kind === 'whole')).toEqual([{ kind: 'whole' }]);
  });

  it('says that bytes are damaged', async () => {
    const faults: FromWorker[] = [];
    const reader = new SessionReader((message) => faults.push(message));
    const whole = Buffer.from(await gzip(`${trace}\n`.repeat(50)), 'base64');
    await reader.open({
      kind: 'held',
      trace: whole.subarray(0, whole.length - 20).toString('base64'),
      journal: null,
      bodies: null,
    });
    expect(faults.at(-1)).toEqual({
      kind: 'lost',
      what: 'trace',
      why: 'What comes after this cannot be read: it is damaged.',
    });
  });

  it('takes nothing from a journal of a later version', async () => {
    const { reader } = await reading(`${trace}\n`, [{ k: 'open', version: 2 }, ...journal.slice(1)]);
    expect(await reader.ask('output', 3)).toEqual({
      parts: [
        {
          kind: 'output',
          text: { kind: 'none', why: 'The journal was written by a later version of svc, and is not read.' },
        },
      ],
    });
  });
});

describe('the index of a journal', () => {
  it('names steps by their places, the same in each session', () => {
    const index = new JournalIndex();
    index.take([...journal.map((record) => JSON.stringify(record)), '{"k":"start"', 'null']);
    expect(index.steps()).toEqual([
      { number: 1, key: '0/1/m1', port: 'model', name: 'm', turn: 1, ms: 5, hasFailed: false },
      { number: 2, key: '0/1/m1/t1', port: 'shell', name: 'ls', turn: 1, ms: 5, hasFailed: false },
      { number: 3, key: '0/1/m1/t2', port: 'tool', name: 'svc-tool-editor', turn: 1, ms: 5, hasFailed: true },
    ]);
  });
});

describe('the detail of a line', () => {
  it('has facts in words, and the change of a file', () => {
    const detail = detailOf(
      line('tool_call', {
        tool_name: 'e',
        turn: 3,
        duration_ms: 1500,
        usage: { input_tokens: 7, output_tokens: 2 },
        ttfb_ms: 20,
        content_bytes: 1500,
        is_error: false,
        exit_code: null,
        truncated: true,
        of_later: 'x',
        arguments: { command: 'patch', path: 'a', old_text: 'x', new_text: 'y' },
      }),
      7,
    );
    expect(detail.facts.slice(1)).toEqual([
      ['Turn', '3'],
      ['Duration', '1.5 s'],
      ['Usage', 'input_tokens: 7, output_tokens: 2'],
      ['First byte after', '20 ms'],
      ['Content bytes', '1.5 KB'],
      ['Truncated', 'yes'],
      ['Of later', 'x'],
    ]);
    expect([detail.arguments, detail.edit?.lines]).toEqual([
      null,
      [
        ['-', 'x'],
        ['+', 'y'],
      ],
    ]);
  });

  it('says who gave a task, answered or stopped', () => {
    expect(detailOf(line('session_stop', { principal: 'operator' }), 7).facts[1]).toEqual(['Principal', 'operator']);
  });

  it('has all digits of a port', () => {
    expect(detailOf(line('egress', { host: 'h', port: 45_877 }), 7).facts[2]).toEqual(['Port', '45877']);
  });

  it('is the line itself where it is damaged, cut to what is shown', () => {
    const detail = detailOf(`{${'x'.repeat(2_000_000)}`, 7);
    expect(detail.line.kind === 'text' ? [detail.line.text.length, detail.line.more] : null).toEqual([
      1_048_576, 951_425,
    ]);
  });
});
