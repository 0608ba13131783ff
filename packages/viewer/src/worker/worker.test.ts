import { describe, expect, it } from 'vitest';

import { heldOf } from '../../test/support/record-answers.ts';
import type { FromWorker } from '../messages.ts';
import { SessionReader } from './session-reader.ts';

const gzip = async (text: string): Promise<string> => {
  const bytes = await new Response(new Blob([text]).stream().pipeThrough(new CompressionStream('gzip'))).arrayBuffer();
  return Buffer.from(bytes).toString('base64');
};
const line = (type: string, fields: object): string =>
  JSON.stringify({ event_type: type, event_id: `evt_${type}`, timestamp: 1000, task_id: 'tsk_1', ...fields });

const trace = [
  line('task_received', { text: 'Do it.' }),
  line('inference', { turn: 1, outcome: 'response' }),
  line('shell', { turn: 1, command_name: 'ls' }),
  line('tool_call', {
    turn: 1,
    tool_name: 'svc-tool-editor',
    arguments: { command: 'patch', path: 'a.ts', old_text: 'x', new_text: 'y\nz' },
  }),
];
const hash = '2'.repeat(64);
const journal = [
  { k: 'open', version: 1, capture: 'content' },
  { k: 'start', e: 'tsk_1/1/m1/t1', port: 'shell', name: 'ls' },
  { k: 'end', e: 'tsk_1/1/m1/t1', ms: 5, value: hash },
  { k: 'task-end', id: 'tsk_1', result: hash },
];

interface Reading {
  readonly reader: SessionReader;
  readonly told: FromWorker[];
}

/** `cut`: so many characters of each element are missing. */
async function reading(lines: readonly string[], cut = 0): Promise<Reading> {
  const told: FromWorker[] = [];
  const reader = new SessionReader((message) => told.push(structuredClone(message)));
  const held = await heldOf({
    trace: lines.map((each) => `${each}\n`).join(''),
    journal: journal.map((record) => `${JSON.stringify(record)}\n`).join(''),
    bodies: new Map([[hash, 'a.ts\n']]),
  });
  const element = async (text: string): Promise<string> => {
    const base64 = await gzip(text);
    return base64.slice(0, base64.length - cut);
  };
  const [rows, details, answers] = [await element(held.rows), await element(held.lines), await element(held.answers)];
  await reader.open({ kind: 'held', rows, lines: details, answers });
  return { reader, told };
}

describe('a session that a page holds', () => {
  it('arrives in rows, to its end', async () => {
    const { told } = await reading(trace);
    expect(told.map(({ kind }) => kind)).toEqual(['rows', 'whole']);
    expect(told[0]?.kind === 'rows' ? told[0].block.rows.names : []).toEqual([
      'task',
      'turn 1',
      'ls',
      'svc-tool-editor',
    ]);
  });

  it('has all of its lines, and what they and its tasks came to', async () => {
    const { reader } = await reading(trace);
    const text = { kind: 'text', text: 'a.ts\n', more: 0 };
    expect(await reader.ask('detail/2')).toMatchObject({
      row: 2,
      eventId: 'evt_shell',
      step: 1,
      parts: [{ kind: 'output', text }],
    });
    expect(await reader.ask('detail/0')).toMatchObject({ row: 0, step: null, parts: [] });
    expect(await reader.ask('result/tsk_1')).toEqual(text);
    expect(await reader.ask('result/tsk_2')).toBe(undefined);
    expect(await reader.ask('changes')).toEqual([{ path: 'a.ts', added: 2, removed: 1, rows: [3] }]);
  });

  it('answers a search', async () => {
    const { reader } = await reading(trace);
    expect(await Promise.all(['evt_shell', 'evt_none', '"'].map((id) => reader.ask(`find/${id}`)))).toEqual([
      2, -1, -1,
    ]);
    expect(await reader.ask('search/editor')).toEqual([3]);
  });

  it('matches a search in what it says, not in the words that its lines are made of', async () => {
    const { reader } = await reading([
      line('shell', { is_error: false, exit_code: null, arguments: { command: 'echo "One"' } }),
      line('shell', { content: { text: ['a task of ERROR null \\o/'] } }),
      line('tool_call', { task_id: 'tsk_2', arguments: { deep: [{ path: 'C:\\Temp' }] } }),
      '{"error": task',
    ]);
    const found = async (words: string): Promise<unknown> => await reader.ask(`search/${encodeURIComponent(words)}`);
    expect(await found('error')).toEqual([1, 3]);
    expect(await found('task')).toEqual([1, 3]);
    expect(await found('null')).toEqual([1]);
    expect(await found('"one"')).toEqual([0]);
    expect(await found('c:\\temp')).toEqual([2]);
    expect(await found('event_type')).toEqual([]);
  });

  it('appears as far as it goes where the page is damaged', async () => {
    const shell = line('shell', { command_name: 'ls', padding: 'x'.repeat(400) });
    const { reader, told } = await reading(
      Array.from({ length: 2000 }, (_, index) => shell.replace('evt_shell', `evt_${index}`)),
      40,
    );
    expect(told.at(-1)).toEqual({ kind: 'lost', why: 'What comes after this cannot be read: it is damaged.' });
    expect(told[0]?.kind).toBe('rows');
    expect(await reader.ask('detail/3')).toMatchObject({ row: 3, eventId: 'evt_3' });
  });
});
