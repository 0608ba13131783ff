import type { Granted } from '@svc/protocol/viewed-session.ts';
import { describe, expect, it } from 'vitest';

import { blockOf } from '../../test/support/block-of.ts';
import type { Block } from '@svc/protocol/viewed-rows.ts';
import { busyLanes } from './busy-lanes.ts';
import { Columns } from './columns.ts';
import { conversationOf } from './conversation.ts';
import { treeOf } from './file-tree.ts';
import { grantRows, Uses } from './grant-rows.ts';
import { Session } from './session.ts';
import { percents, summarize } from './summary.ts';
import { View } from './view.ts';

const start = 1_700_000_000_000;
const event = (type: string, at: number, fields: object = {}): string =>
  JSON.stringify({ event_type: type, event_id: 'e', timestamp: start + at, task_id: 'tsk_1', ...fields });

const place = { kind: 'held', rows: '', lines: '', answers: '' } as const;

const lines = [
  event('session_start', 0, {
    task_id: undefined,
    capsule: { name: 'c', version: '1' },
    containment: { declared: 'scoped', achieved: 'sealed', mechanism: 'm' },
  }),
  event('task_received', 1, { text: 'Do it.' }),
  event('task_start', 2, { attempt: 1 }),
  event('inference', 1000, {
    turn: 1,
    model: 'm',
    outcome: 'response',
    duration_ms: 900,
    usage: { input_tokens: 10, output_tokens: 2 },
  }),
  event('shell', 1500, { turn: 1, command_name: 'git', duration_ms: 400, arguments: { args: ['diff'] } }),
  event('tool_call', 1600, {
    turn: 1,
    tool_name: 'svc-tool-editor',
    duration_ms: 50,
    is_error: true,
    arguments: { command: 'read', path: 'a' },
  }),
  event('delegation', 1700, { delegation_id: 'd', capsule: 'reviewer', status: 'started', child_session_id: 'ses_2' }),
  event('delegation', 2700, { delegation_id: 'd', capsule: 'reviewer', status: 'ok' }),
  event('delegation', 2800, { delegation_id: 'x', capsule: 'other', status: 'refused', detail: 'not granted' }),
  event('task_start', 2900, { attempt: 2 }),
  event('inference', 3000, { turn: 1, model: 'm', outcome: 'failed', error: 'no', duration_ms: 90, usage: null }),
  event('task_end', 3001, {
    state: 'failed',
    turns: 2,
    usage: { input_tokens: 10, output_tokens: 2 },
    duration_ms: 2999,
  }),
];

const granted: Granted = {
  rows: (
    [
      ['Command', 'git', ['command', 'git']],
      ['Command', 'jq', ['command', 'jq']],
      ['Files', 'the workdir', ['tool', 'svc-tool-editor']],
      ['Network', 'api.example.com:443', ['connection', 'api.example.com:443']],
      ['Child', 'reviewer@1.0.0', ['child', 'reviewer']],
      ['Variable', 'CI', null],
    ] as const
  ).map(([kind, what, use]) => ({ kind, what, line: null, use })),
  limits: [],
};

function read(): { readonly columns: Columns; readonly block: Block } {
  const columns = new Columns();
  const block = blockOf(lines);
  columns.put(block.rows);
  return { columns, block };
}

describe('the rows of a trace', () => {
  it('begin when the line says, or as long before as they took', () => {
    const { columns, block } = read();
    expect([3, 4, 7].map((row) => [columns.startOf(row), columns.durationOf(row)])).toEqual([
      [100, 900],
      [1100, 400],
      [1700, 1000],
    ]);
    expect(columns.end).toBe(3001);
    expect(block.tasks.map(({ text, firstRow }) => [text, firstRow])).toEqual([['Do it.', 1]]);
    expect(block.ends.map(({ state, turns }) => [state, turns])).toEqual([['failed', 2]]);
    expect(block.children.map(({ capsule, status, sessionId }) => [capsule, status, sessionId])).toEqual([
      ['reviewer', 'started', 'ses_2'],
      ['reviewer', 'ok', null],
      ['other', 'refused', null],
    ]);
  });

  it('keep their order where a clock goes backwards or far ahead', () => {
    const { rows } = blockOf([event('a', 1000), event('b', -5000), event('c', 9e14), event('d', 2000)]);
    expect(rows.start).toEqual([0, 0, 0, 1000]);
  });

  it('form a conversation', () => {
    const { columns } = read();
    expect(conversationOf(0, 1, lines.length, columns)).toEqual([
      { kind: 'turn', row: 3, calls: [4, 5] },
      { kind: 'child', row: 6 },
      { kind: 'child', row: 8 },
      { kind: 'rule', row: 9 },
      { kind: 'turn', row: 10, calls: [] },
      { kind: 'end', row: 11 },
    ]);
  });

  it('form no turn where a hook asked the model', () => {
    const columns = new Columns();
    const asked = { model: 'm', outcome: 'response', duration_ms: 10, usage: { input_tokens: 10, output_tokens: 2 } };
    const told = [
      event('task_received', 0, { text: 'Do it.' }),
      event('inference', 1, { turn: 1, ...asked }),
      event('shell', 2, { turn: 1, command_name: 'a' }),
      event('inference', 3, { turn: 0, hook_name: 'svc-hook-x', ...asked }),
      event('shell', 4, { turn: 1, command_name: 'b' }),
    ];
    const { rows } = blockOf(told);
    columns.put(rows);
    expect(conversationOf(0, 1, told.length, columns)).toEqual([{ kind: 'turn', row: 1, calls: [2, 4] }]);
    expect([...told.keys()].map((row) => [columns.nameOf(row), columns.inputOf(row)])).toEqual([
      ['task', 0],
      ['turn 1', 10],
      ['a', 0],
      ['svc-hook-x', 10],
      ['b', 0],
    ]);
    expect(summarize(Uint32Array.from(told.keys()), columns).byLane[0]).toBe(20);
  });

  it('form a conversation in which a call after a question stands behind it', () => {
    const columns = new Columns();
    const called = [
      event('inference', 1, { turn: 1 }),
      event('shell', 2, { command_name: 'ls' }),
      event('task_input_required', 3, { prompt: 'Which?', outcome: 'answered' }),
      event('tool_call', 4, { tool_name: 'svc-tool-request-input' }),
      event('shell', 5, { command_name: 'wc' }),
      event('inference', 6, { turn: 2 }),
    ];
    columns.put(blockOf(called).rows);
    expect(conversationOf(0, 0, called.length, columns)).toEqual([
      { kind: 'turn', row: 0, calls: [1] },
      { kind: 'question', row: 2 },
      { kind: 'turn', row: 3, calls: [3, 4] },
      { kind: 'turn', row: 5, calls: [] },
    ]);
  });

  it('have a summary', () => {
    const { columns } = read();
    const { byLane, slowest, failures } = summarize(Uint32Array.from(lines.keys()), columns);
    expect(byLane).toEqual([990, 50, 400, 1000, 0]);
    expect(slowest.map(({ row }) => row)).toEqual([7, 3, 4, 10, 5]);
    expect(failures.map(([name, count]) => [name, count])).toEqual([
      ['svc-tool-editor', 1],
      ['other', 1],
      ['turn 1', 1],
      ['task failed', 1],
    ]);
    expect([percents([1, 1, 2]), percents([0, 0])]).toEqual([
      [25, 25, 50],
      [0, 0],
    ]);
  });

  it('show the whole of a task that waited before it began', () => {
    const session = new Session({ onmessage: null, postMessage: () => {}, terminate: () => {} }, place);
    const view = new View(session);
    session.tasks.value = [
      {
        index: 0,
        id: 't',
        firstRow: 0,
        text: '',
        origin: 'user',
        isUntrusted: false,
        start: 1000,
        end: 9000,
        durationMs: 10,
      },
    ];
    view.pickTask(0);
    expect(view.range.value).toEqual([840, 9160]);
    view.close();
  });

  it('say what of the grants was used', () => {
    const { columns } = read();
    const uses = new Uses(columns, lines.length);
    const rows = grantRows(granted, uses, false);
    expect(rows.map(({ what, use }) => [what, use?.used ?? null, use?.failed ?? null])).toEqual([
      ['git', 1, 0],
      ['jq', 0, 0],
      ['the workdir', 1, 1],
      ['api.example.com:443', null, null],
      ['reviewer@1.0.0', 1, 0],
      ['CI', null, null],
    ]);
    expect(uses.refusals).toEqual([{ name: 'other', detail: 'refused: not granted', count: 1, row: 8 }]);
  });
});

describe('the grants of a session', () => {
  it('have the connections and refusals of its trace', () => {
    const told = [
      lines[0] ?? '',
      event('egress', 10, {
        host: 'api.example.com',
        port: 443,
        allowed: true,
        by: 'programs',
        connections: 7,
        bytes_in: 5000,
        bytes_out: 10,
      }),
      event('egress', 11, { host: 'evil.example.com', port: 443, allowed: false, by: 'programs', connections: 2 }),
      event('refusal', 12, { what: 'command', name: 'jq', rule: 'no', by: 'svc-hook-x' }),
      event('shell', 12, { command_name: 'jq', is_error: true, exit_code: null }),
      event('session_end', 13, { status: 'ok', grant_evidence: { commands: {} } }),
    ];
    const columns = new Columns();
    const block = blockOf(told);
    columns.put(block.rows);
    const uses = new Uses(columns, told.length);
    const rows = grantRows(granted, uses, true);
    const use = (what: string): unknown => rows.find((row) => row.what === what)?.use;
    expect(use('api.example.com:443')).toEqual({
      used: 7,
      failed: 0,
      refused: 0,
      row: 1,
      name: 'api.example.com:443',
    });
    expect(use('jq')).toEqual({ used: 0, failed: 0, refused: 1, row: 3, name: 'jq' });
    expect(uses.refusals.map(({ name, detail }) => [name, detail])).toEqual([
      ['evil.example.com:443', 'not allowed, by programs'],
      ['jq', 'no (command, by svc-hook-x)'],
    ]);
    expect(block.hasEvidence).toBe(true);
  });

  it('count as never used where the trace would show a use', () => {
    const { columns } = read();
    const rows = grantRows(granted, new Uses(columns, lines.length), true);
    expect(rows.find(({ kind }) => kind === 'Network')?.use).toEqual({
      used: 0,
      failed: 0,
      refused: 0,
      row: -1,
      name: 'api.example.com:443',
    });
  });
});

describe('the lanes of the timeline', () => {
  const columns = new Columns();
  const ten = Array.from({ length: 10 }, (_, index) =>
    event('shell', (index + 1) * 1000, { command_name: 'ls', duration_ms: 500 }),
  );
  columns.put(blockOf([event('task_received', 0), ...ten]).rows);
  const window = { from: 0, to: 10_000, pixels: 10, task: -1, hidden: new Set<number>(), barPixels: Infinity };

  it('have a share for each column', () => {
    const { busy, bars } = busyLanes(columns, 11, window);
    expect([...busy.subarray(20, 30)].map((share) => Math.round(share * 100) / 100)).toEqual([
      0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5,
    ]);
    expect(bars).toEqual([]);
  });

  it('have bars where there is room', () => {
    const { bars } = busyLanes(columns, 11, { ...window, from: 0, to: 2000, pixels: 200, barPixels: 3 });
    expect(bars.map(({ row, from, to }) => [row, from, to])).toEqual([
      [1, 50, 100],
      [2, 150, 200],
    ]);
  });

  it('take no longer for steps that all last the whole session', () => {
    const long = new Columns();
    const rows = Array.from({ length: 20_000 }, () => event('shell', 1e9, { command_name: 'ls', duration_ms: 1e9 }));
    long.put(blockOf([event('task_received', 0), ...rows]).rows);
    const { busy, bars } = busyLanes(long, 20_001, { ...window, to: 1e9, pixels: 1000, barPixels: 3 });
    expect([bars.length, Math.round(busy[2500] ?? 0)]).toEqual([2000, 18_000]);
  });
});

describe('files', () => {
  it('form a tree with the result first', () => {
    const file = (path: string): Parameters<typeof treeOf>[0][number] => ({
      path,
      bytes: 1,
      added: 0,
      removed: 0,
      rows: [],
    });
    expect(
      treeOf([file('src/b.ts'), file('README'), file('src/a/x.ts'), file('out/result.txt'), file('out/b')]).map(
        ({ depth, name }) => `${' '.repeat(depth)}${name}`,
      ),
    ).toEqual(['out/result.txt', 'out', ' b', 'src', ' a', '  x.ts', ' b.ts', 'README']);
  });
});
