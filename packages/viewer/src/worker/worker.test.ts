import { describe, expect, it } from 'vitest';

import type { HeldAnswer } from '@svc/protocol/viewed-session.ts';
import type { FromWorker } from '../messages.ts';
import { SessionReader } from './session-reader.ts';
import { detailOf } from './step-detail.ts';

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

async function reading(
  traceText: string,
  held: readonly HeldAnswer[] | null = null,
): Promise<{ readonly reader: SessionReader; readonly told: FromWorker[] }> {
  const told: FromWorker[] = [];
  const reader = new SessionReader((message) => told.push(structuredClone(message)));
  const texts = held === null ? null : await gzip(held.map((each) => `${JSON.stringify(each)}\n`).join(''));
  await reader.open({ kind: 'held', trace: await gzip(traceText), texts });
  return { reader, told };
}

describe('a session that is read', () => {
  it('has what its lines and tasks came to, as the page holds it', async () => {
    const parts = [{ kind: 'output', text: { kind: 'text', text: 'a.ts\n', more: 0 } }] as const;
    const { reader } = await reading(`${trace}\n`, [
      ['row/3', { step: 2, parts }],
      ['result/tsk_1', { kind: 'text', text: 'Done.', more: 0 }],
    ]);
    expect(await reader.ask('detail', 3)).toMatchObject({ row: 3, eventId: 'evt_shell', step: 2, parts });
    expect(await reader.ask('detail', 0)).toMatchObject({ row: 0, step: null, parts: [] });
    expect(await reader.ask('result', 0)).toEqual({ kind: 'text', text: 'Done.', more: 0 });
    expect(await reader.ask('result', 1)).toEqual({ kind: 'none', why: '' });
  });

  it('has its lines where it holds no texts', async () => {
    const { reader } = await reading(`${trace}\n`);
    expect(await reader.ask('detail', 3)).toMatchObject({ row: 3, eventId: 'evt_shell', step: null, parts: [] });
  });

  it('says what became of the files of a plan', async () => {
    const given = { command: 'write', path: 'out/b', content: 'b\n' };
    const step = (outcome: string): string =>
      line('plan_step', { step_id: outcome, kind: 'tool', name: 'svc-tool-editor', arguments: given, outcome });
    const { reader } = await reading(`${step('failed')}\n${step('passed')}\n`);
    expect(await reader.ask('changes', null)).toEqual([{ path: 'out/b', added: 1, removed: 0, rows: [1] }]);
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
    expect(told.filter(({ kind }) => kind === 'whole')).toEqual([{ kind: 'whole' }]);
  });

  it('says that bytes are damaged', async () => {
    const faults: FromWorker[] = [];
    const reader = new SessionReader((message) => faults.push(message));
    const whole = Buffer.from(await gzip(`${trace}\n`.repeat(50)), 'base64');
    await reader.open({
      kind: 'held',
      trace: whole.subarray(0, whole.length - 20).toString('base64'),
      texts: null,
    });
    expect(faults.at(-1)).toEqual({
      kind: 'lost',
      why: 'What comes after this cannot be read: it is damaged.',
    });
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
