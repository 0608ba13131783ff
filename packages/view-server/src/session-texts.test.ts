import { mkdtempSync, openSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

import type { ShownText } from '@svc/protocol/shown-text.ts';
import type { StepDetail } from '@svc/protocol/viewed-session.ts';
import type { StepTexts } from '@svc/protocol/viewed-session.ts';
import { describe, expect, it, onTestFinished } from 'vitest';

import type { BodyReading, JournalReader } from '@svc/record/journal/journal-reader.ts';
import { LineFile } from '@svc/record/journal/line-file.ts';
import { SessionTexts } from './session-texts.ts';
import type { ViewedSession } from './viewed-session.ts';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

/** MiB that are still held behind some work. */
async function heldAfter(work: () => Promise<unknown>): Promise<number> {
  collectGarbage();
  const before = process.memoryUsage().heapUsed;
  await work();
  collectGarbage();
  return (process.memoryUsage().heapUsed - before) / 1024 / 1024;
}

const hash = (digit: string): string => digit.repeat(64);
const line = (type: string, fields: object): string =>
  JSON.stringify({ event_type: type, task_id: 'tsk_1', ...fields });

const trace = [
  line('task_received', { text: 'Do it.' }),
  line('task_start', { attempt: 1 }),
  line('inference', { turn: 1, outcome: 'response' }),
  line('shell', { turn: 1, command_name: 'ls' }),
  line('tool_call', { turn: 1, tool_name: 'svc-tool-editor' }),
  line('task_input_required', { prompt: 'Which?', outcome: 'answered' }),
  line('task_end', { state: 'completed' }),
];

const journal: readonly object[] = [
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

const bodies: Readonly<Record<string, BodyReading>> = {
  [hash('1')]: {
    kind: 'text',
    text: JSON.stringify({
      kind: 'response',
      response: {
        content: [
          { type: 'thinking', text: 'hm' },
          { type: 'text', text: 'I look.' },
        ],
      },
    }),
  },
  [hash('2')]: { kind: 'text', text: JSON.stringify({ content: 'a.ts\n' }) },
  [hash('3')]: { kind: 'not kept', bytes: 7 },
  [hash('4')]: { kind: 'text', text: 'This one.' },
  [hash('5')]: { kind: 'cut', bytes: 900, head: 'a', tail: 'z' },
  [hash('6')]: { kind: 'text', text: '{"decision":"allow","option":"once","note":null}' },
  [hash('7')]: { kind: 'text', text: '{"decision":"deny","option":"once","note":"not on a Friday"}' },
};

/** A session whose files hold these lines. */
function session(
  lines: readonly string[],
  records: readonly (object | string)[] | null = journal,
): {
  readonly viewed: ViewedSession;
  readonly write: (what: 'trace' | 'journal', text: string) => void;
  readonly replace: (what: 'trace' | 'journal', text: string) => void;
} {
  const folder = mkdtempSync(join(tmpdir(), 'svc-texts-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const write = (what: string, text: string): void => writeFileSync(join(folder, what), text);
  const replace = (what: string, text: string): void => {
    write('new', text);
    renameSync(join(folder, 'new'), join(folder, what));
  };
  write('trace', lines.map((each) => `${each}\n`).join(''));
  const texts = records?.map((each) => `${typeof each === 'string' ? each : JSON.stringify(each)}\n`);
  if (texts !== undefined) write('journal', texts.join(''));
  const open = (name: string): LineFile => new LineFile(openSync(join(folder, name), 'r'));
  const reader = {
    body: (sha256: string): BodyReading => bodies[sha256] ?? { kind: 'damaged', why: 'the journal has no such text' },
  };
  const viewed = {
    id: 'ses_1',
    openTrace: () => open('trace'),
    openJournal: () => (records === null ? null : open('journal')),
    openReader: () => ({ reader: reader as unknown as JournalReader, close: () => {} }),
  };
  return { viewed: viewed as unknown as ViewedSession, write, replace };
}

const text = (said: string): ShownText => ({ kind: 'text', text: said, more: 0 });
const output = (said: string, step: number): StepTexts => ({ step, parts: [{ kind: 'output', text: text(said) }] });
const nothing = (why: string, step: number | null = null): StepTexts => ({
  step,
  parts: [{ kind: 'output', text: { kind: 'none', why } }],
});

async function rowsOf(viewed: ViewedSession, rows: readonly number[]): Promise<readonly StepTexts[]> {
  const texts = new SessionTexts();
  return await Promise.all(rows.map(async (row) => textsIn(await texts.ofRow(viewed, row))));
}

function textsIn(detail: StepDetail | null): StepTexts {
  return { step: detail?.step ?? null, parts: detail?.parts ?? [] };
}

async function stepOf(texts: SessionTexts, viewed: ViewedSession, row: number): Promise<number | null> {
  return (await texts.ofRow(viewed, row))?.step ?? null;
}

describe('the texts of a session', () => {
  it('belong to the steps at the places that its trace names', async () => {
    const { viewed } = session(trace);
    expect(await rowsOf(viewed, [5, 2, 3, 4, 0, 1, 6, 7, 999_999_999])).toEqual([
      { step: null, parts: [{ kind: 'answer', text: text('This one.') }] },
      {
        step: 1,
        parts: [
          { kind: 'thinking', text: text('hm') },
          { kind: 'text', text: text('I look.') },
        ],
      },
      output('a.ts\n', 2),
      nothing('Not kept: the session recorded hashes and sizes of texts alone, or the text was too long.', 3),
      ...Array.from({ length: 5 }, () => ({ step: null, parts: [] })),
    ]);
    expect(await new SessionTexts().ofTask(viewed, 'tsk_1')).toEqual(text('a\n… 900 bytes in all …\nz'));
  });

  it('belong to calls between which a hook asked the model', async () => {
    const asked = line('inference', { turn: 0, hook_name: 'svc-hook-x', outcome: 'response' });
    const [received = '', start = '', model = '', first = '', second = ''] = trace;
    const { viewed } = session([received, start, asked, model, asked, first, asked, second]);
    expect((await rowsOf(viewed, [2, 3, 4, 5, 6, 7])).map(({ step }) => step)).toEqual([null, 1, null, 2, null, 3]);
  });

  it('say how each approval was settled, and what each question was answered with, in the order of both', async () => {
    const asked = line('task_input_required', { prompt: 'May it?', outcome: 'answered' });
    const arrived = (what: string, digit: string): object => ({ k: 'in', what, task: 'tsk_1', text: hash(digit) });
    const { viewed } = session(
      [asked, asked, asked, asked],
      [
        { k: 'open', version: 1, capture: 'content' },
        arrived('decision', '6'),
        arrived('answer', '4'),
        arrived('decision', '7'),
        arrived('answer', '6'),
      ],
    );
    const answer = (said: string): StepTexts => ({ step: null, parts: [{ kind: 'answer', text: text(said) }] });
    expect(await rowsOf(viewed, [0, 1, 2, 3])).toEqual([
      answer('allow once'),
      answer('This one.'),
      answer('deny: not on a Friday'),
      answer('{"decision":"allow","option":"once","note":null}'),
    ]);
  });

  it('belong to the steps of a plan, by the call that comes after them, in the turn of the model', async () => {
    const { viewed } = session(
      [
        line('task_start', { attempt: 2 }),
        line('inference', { turn: 3, outcome: 'response' }),
        line('shell', { turn: 3, command_name: 'ls' }),
        line('plan_step', { step_id: 'list', kind: 'shell', name: 'ls' }),
        line('tool_call', { turn: 3, tool_name: 'submit-plan' }),
      ],
      [
        ...journal.slice(0, 2),
        { k: 'start', e: 'tsk_1/2/m3/t2/slist', port: 'shell', name: 'ls' },
        { k: 'end', e: 'tsk_1/2/m3/t2/slist', ms: 5, value: hash('2') },
        { k: 'start', e: 'tsk_1/2/m3/t2', port: 'tool', name: 'submit-plan' },
      ],
    );
    expect(await rowsOf(viewed, [3, 4, 2])).toEqual([
      output('a.ts\n', 1),
      nothing('Nothing came back: it was canceled.', 2),
      nothing('The journal does not have it.'),
    ]);
  });

  it('come also from behind lines and records that are damaged or too long', async () => {
    const long = 'x'.repeat(17 * 1024 * 1024);
    const { viewed } = session(
      [...trace.slice(0, 2), long, '{"event_type":"shell"', ...trace.slice(2)],
      [...journal.slice(0, 2), long, '{"k":"start"', 'null', ...journal.slice(2)],
    );
    expect(await rowsOf(viewed, [5, 2, 3])).toEqual([
      output('a.ts\n', 2),
      { step: null, parts: [] },
      { step: null, parts: [] },
    ]);
  });

  it('include those that came since the last time, also where a file is another one', async () => {
    const { viewed, write } = session(trace.slice(0, 3), journal.slice(0, 4));
    const texts = new SessionTexts();
    expect([await stepOf(texts, viewed, 2), await stepOf(texts, viewed, 3)]).toEqual([1, null]);
    write('trace', `${trace.join('\n')}\n`);
    write('journal', `${journal.map((record) => JSON.stringify(record)).join('\n')}\n`);
    expect([await stepOf(texts, viewed, 4), await stepOf(texts, viewed, 3)]).toEqual([3, 2]);
    write('trace', `${trace.slice(1, 3).join('\n')}\n`);
    expect(await stepOf(texts, viewed, 1)).toBe(1);
  });

  it('include those of a file that replaced another, also where it is as long', async () => {
    const long = line('note', { text: 'y'.repeat(1024 * 1024) });
    const { viewed, replace } = session([long, ...trace]);
    const texts = new SessionTexts();
    expect(await stepOf(texts, viewed, 4)).toBe(2);
    replace(
      'trace',
      [...trace.slice(0, 2), long, ...trace.slice(2), line('note', {})].map((each) => `${each}\n`).join(''),
    );
    expect(await stepOf(texts, viewed, 4)).toBe(2);
    const [open = {}, ...records] = journal;
    const before = [
      { k: 'start', e: 'tsk_0/1/m1' },
      { k: 'start', e: 'tsk_0/1/m2' },
    ];
    replace('journal', [open, ...before, ...records].map((record) => `${JSON.stringify(record)}\n`).join(''));
    expect(await stepOf(texts, viewed, 4)).toBe(4);
  });

  it('arrive for a line that is known while others are walked to', async () => {
    const long = line('shell', { arguments: 'y'.repeat(1024 * 1024) });
    const { viewed } = session([...trace, ...Array.from({ length: 20 }, () => long)], null);
    const texts = new SessionTexts();
    await texts.ofRow(viewed, 3);
    const told: number[] = [];
    const ask = async (row: number): Promise<void> => {
      await texts.ofRow(viewed, row);
      told.push(row);
    };
    await Promise.all([ask(26), ask(3)]);
    expect(told).toEqual([3, 26]);
  });

  it('take a near place as their start for each of many lines', async () => {
    const call = line('shell', { turn: 1, command_name: 'ls', arguments: 'y'.repeat(4000) });
    const many = Array.from({ length: 2000 }, () => call);
    const { viewed } = session(
      [...trace.slice(0, 3), ...many],
      [
        ...journal.slice(0, 4),
        ...many.flatMap((_call, index) => [
          { k: 'start', e: `tsk_1/1/m1/t${index + 1}`, port: 'shell', name: 'ls' },
          { k: 'end', e: `tsk_1/1/m1/t${index + 1}`, value: hash('2') },
        ]),
      ],
    );
    expect((await rowsOf(viewed, [2002, 3, 900, 1500, 2003])).map(({ step }) => step)).toEqual([
      2001,
      2,
      899,
      1499,
      null,
    ]);
  });

  it('do not exist without a journal, nor in one of a later version', async () => {
    expect(await rowsOf(session(trace, null).viewed, [3])).toEqual([
      nothing('This session kept no journal, or it is not here: texts of answers and outputs are in it.'),
    ]);
    const later = session(trace, [{ k: 'open', version: 2 }, ...journal.slice(1)]).viewed;
    expect(await rowsOf(later, [3])).toEqual([
      nothing('The journal was written by a later version of svc, and is not read.'),
    ]);
  });
});

describe('what is kept of hostile records', () => {
  const mebibyte = 1024 * 1024;

  it('holds nothing of what is written for turns', async () => {
    const turns = line('inference', { turn: Array.from({ length: mebibyte / 2 }, () => 0) });
    const { viewed } = session(Array.from({ length: 12 }, () => turns));
    const texts = new SessionTexts();
    expect(await heldAfter(async () => await texts.ofRow(viewed, 11))).toBeLessThan(4);
    expect(await stepOf(texts, viewed, 0)).toBe(null);
  });

  it('holds the beginnings alone of long ids', async () => {
    const ids = Array.from({ length: 12 }, (_each, number) => `${number}`.padEnd(mebibyte, '.'));
    const { viewed } = session(
      ids.map((id) => JSON.stringify({ event_type: 'shell', task_id: id })),
      [
        ...journal,
        ...ids.map((id) => ({ k: 'task-end', id, result: hash('5') })),
        ...ids.map((id) => ({ k: 'in', what: 'answer', task: id, text: hash('4') })),
      ],
    );
    const texts = new SessionTexts();
    expect(await heldAfter(async () => await texts.ofRow(viewed, 11))).toBeLessThan(4);
    expect(await texts.ofTask(viewed, '3'.padEnd(128, '.'))).toEqual(text('a\n… 900 bytes in all …\nz'));
  });
});

describe('the lines of a session', () => {
  const lines = [
    line('shell', { event_id: 'evt_1', is_error: false, exit_code: null, arguments: { command: 'echo "One"' } }),
    line('shell', { content: { text: ['a task of ERROR null \\o/'] } }),
    line('tool_call', {
      event_id: 'evt_3',
      task_id: 'tsk_2',
      arguments: { command: 'write', path: 'C:\\Temp', content: 'b\n' },
    }),
    '{"error": task',
    `{"event_type":"x","a":${'['.repeat(10_000)}"error"${']'.repeat(10_000)}}`,
    line('plan_step', { kind: 'tool', outcome: 'failed', arguments: { command: 'write', path: 'p', content: 'b' } }),
  ];

  it('match a search in what they say, not in the words that they are made of', async () => {
    const { viewed } = session(lines);
    const texts = new SessionTexts();
    const found = async (words: string): Promise<readonly number[]> => await texts.search(viewed, words);
    expect(await found('error')).toEqual([1, 3]);
    expect(await found('task')).toEqual([1, 3]);
    expect(await found('null')).toEqual([1]);
    expect(await found('"one"')).toEqual([0]);
    expect(await found('c:\\temp')).toEqual([2]);
    expect(await found('event_type')).toEqual([]);
  });

  it('match their ids, and say what became of files', async () => {
    const { viewed } = session(lines);
    const texts = new SessionTexts();
    const find = async (id: string): Promise<number> => await texts.find(viewed, id);
    expect([await find('evt_3'), await find('evt_none'), await find('"')]).toEqual([2, -1, -1]);
    expect(await texts.changes(viewed)).toEqual([{ path: 'C:\\Temp', added: 1, removed: 0, rows: [2] }]);
  });

  it('need one search for all who ask the same at once, to the end', async () => {
    const { viewed } = session([...lines, ...Array.from({ length: 8 }, () => `"${'x'.repeat(1024 * 1024)}"`)]);
    let opened = 0;
    const counted = {
      ...viewed,
      openTrace: () => {
        opened += 1;
        return viewed.openTrace();
      },
    } as ViewedSession;
    const texts = new SessionTexts();
    const asked = [
      texts.search(counted, 'error'),
      texts.search(counted, '"one"'),
      texts.changes(counted),
      texts.search(counted, 'error'),
      texts.changes(counted),
      texts.find(counted, 'evt_3'),
      texts.find(counted, 'evt_3'),
    ];
    expect(opened).toBe(4);
    await expect(texts.search(counted, 'null')).rejects.toMatchObject({ status: 503, code: 'busy' });
    const changed = [{ path: 'C:\\Temp', added: 1, removed: 0, rows: [2] }];
    expect(await Promise.all(asked)).toEqual([[1, 3], [0], changed, [1, 3], changed, 2, 2]);
    expect(await texts.search(counted, 'null')).toEqual([1]);
    expect(opened).toBe(5);
  });

  it('arrive all for one search, with its result', async () => {
    const { viewed } = session(trace);
    expect(await new SessionTexts().ofRow(viewed, 3)).toEqual({
      row: 3,
      eventId: null,
      facts: [['Turn', '1']],
      arguments: null,
      edit: null,
      texts: [],
      line: text(JSON.stringify(JSON.parse(trace[3] ?? ''), null, 2)),
      ...output('a.ts\n', 2),
    });
    expect(await new SessionTexts().ofRow(viewed, 7)).toBe(null);
  });
});
