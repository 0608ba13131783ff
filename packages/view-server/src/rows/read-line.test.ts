import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import * as kinds from '@svc/protocol/row-kinds.ts';
import * as flags from '@svc/protocol/row-flags.ts';
import { eventTypes } from './event-kinds.ts';
import { readLine } from './read-line.ts';

const line = (fields: object): string => JSON.stringify({ event_id: 'evt_1', timestamp: 5000, ...fields });

describe('the row of a line', () => {
  it('has what a call was about', () => {
    const call = line({
      event_type: 'tool_call',
      task_id: 'tsk_1',
      tool_name: 'svc-tool-editor',
      arguments: { command: 'read', path: 'src/a.ts' },
      is_error: true,
      duration_ms: 12,
    });
    const { event: _event, ...row } = readLine(call);
    expect(row).toEqual({
      kind: kinds.tool,
      flags: flags.failed,
      at: 5000,
      startedAt: null,
      durationMs: 12,
      taskId: 'tsk_1',
      inputTokens: 0,
      outputTokens: 0,
      name: 'svc-tool-editor',
      detail: 'read src/a.ts',
    });
  });

  it.each([
    ['tool_call', 'arguments', 'a~/b: 1: 1234567890123456789 0.12345678901234567891, c: 1e400'],
    ['plan_step', 'arguments', 'step : a~/b: 1: 1234567890123456789 0.12345678901234567891, c: 1e400'],
    ['of_later', 'detail', 'a~/b: 1: 1234567890123456789 0.12345678901234567891, c: 1e400'],
  ])('has all digits of numbers that JavaScript rounds in a %s', (type, key, detail) => {
    const given = '{"a~/b":{"1":[1234567890123456789,0.12345678901234567891]},"c":1e400}';
    const fields = { event_type: type, outcome: 'passed', [key]: 0 };
    expect(readLine(line(fields).replace(`"${key}":0`, `"${key}":${given}`)).detail).toBe(detail);
  });

  it.each([
    [
      'a skill that a person named',
      { event_type: 'skill_call', skill_name: 'pdf', turn: 0, by: 'local' },
      'named by local',
    ],
    [
      'a file of a skill',
      { event_type: 'skill_call', skill_name: 'pdf', arguments: { file: 'references/a.md' } },
      'references/a.md',
    ],
    [
      'a turn',
      {
        event_type: 'inference',
        model: 'm',
        stop_reason: 'end_turn',
        usage: { input_tokens: 1834, output_tokens: 78 },
      },
      'm · 1,834 in, 78 out',
    ],
    [
      'a turn of which the provider had a part in its cache',
      {
        event_type: 'inference',
        model: 'm',
        stop_reason: 'end_turn',
        usage: { input_tokens: 1834, output_tokens: 78 },
        cache_read_tokens: 1600,
      },
      'm · 1,834 in, 78 out, cache 1,600',
    ],
    [
      'a turn that was cut and asked for again',
      { event_type: 'inference', model: 'm', stop_reason: 'max_tokens', retries: ['429'] },
      'm · 0 in, 0 out · max_tokens · 1 retry',
    ],
    ['a command that failed', { event_type: 'shell', exit_code: 1, arguments: { command: 'x.ts' } }, 'exit 1 · x.ts'],
    ['a command', { event_type: 'shell', exit_code: 0, arguments: { args: ['-l', 'x.ts'] } }, '-l x.ts'],
    [
      'a step of a plan',
      { event_type: 'plan_step', step_id: 'a', outcome: 'passed', arguments: { command: '-1' } },
      'step a: -1',
    ],
    ['a step that was not taken', { event_type: 'plan_step', step_id: 'a', outcome: 'skipped' }, 'step a: skipped'],
    [
      'a shorter conversation',
      { event_type: 'compaction', outcome: 'replaced', messages_before: 9, messages_after: 1 },
      '9 to 1 message',
    ],
    ['one that could not be', { event_type: 'compaction', outcome: 'failed', error: 'too long' }, 'too long'],
    ['an end of a session', { event_type: 'session_end', status: 'ok', tasks: 1 }, '1 task'],
    [
      'a child that has ended',
      { event_type: 'task_received', origin: 'completion', text: '{"capsule_name":"c","status":"ok"}' },
      'c has ended: ok',
    ],
    [
      'a person who writes the same',
      { event_type: 'task_received', origin: 'user', text: '{"capsule_name":"c"}' },
      '{"capsule_name":"c"}',
    ],
  ])('says of %s what a person asks', (_what, fields, detail) => {
    expect(readLine(line(fields)).detail).toBe(detail);
  });

  it('has the whole name of what was granted', () => {
    const [name, host] = ['n'.repeat(100), `${'h'.repeat(60)}.${'h'.repeat(60)}.example.com`];
    expect(
      [
        { event_type: 'tool_call', tool_name: name },
        { event_type: 'shell', command_name: name },
        { event_type: 'delegation', capsule: name },
        { event_type: 'egress', host, port: 443 },
      ].map((fields) => readLine(line(fields)).name),
    ).toEqual([name, name, name, `${host}:443`]);
  });

  it('for the end of all tasks names the client that asked for it', () => {
    const { kind, name, detail } = readLine(line({ event_type: 'session_stop', principal: 'token:ci' }));
    expect([eventTypes[kind], name, detail]).toEqual(['session_stop', 'session stop', 'token:ci']);
  });

  it('for a step of a plan has the kind that it runs', () => {
    const kindsOf = ['tool', 'shell', 'capsule', 'later', undefined, { toString: 7 }].map(
      (kind) => readLine(line({ event_type: 'plan_step', kind, name: 'n' })).kind,
    );
    expect(kindsOf).toEqual([
      kinds.planStep,
      kinds.planCommand,
      kinds.planChild,
      kinds.planStep,
      kinds.planStep,
      kinds.planStep,
    ]);
  });

  it('took no longer than a session can', () => {
    const took = (duration: number): number =>
      readLine(line({ event_type: 'shell', duration_ms: duration })).durationMs;
    expect([took(86_400_000), took(1e13)]).toEqual([86_400_000, 0]);
  });

  it('went wrong where a command ended with another code than 0', () => {
    const codes = [0, 2, null, 'x'].map((code) => readLine(line({ event_type: 'shell', exit_code: code })).flags);
    expect(codes).toEqual([0, flags.exited, 0, 0]);
  });

  it.each([
    ['null', kinds.damaged],
    ['[]', kinds.damaged],
    ['{"event_type":7}', kinds.damaged],
    ['{"event_type":"infer', kinds.damaged],
    ['', kinds.damaged],
    [line({ event_type: 'something_of_later' }), kinds.unknown],
  ])('for %s has kind %i', (text, kind) => {
    expect(readLine(text).kind).toBe(kind);
  });

  it('holds no number that is out of bounds, whatever the line says', () => {
    const odd = fc.oneof(fc.jsonValue({ maxDepth: 3 }), fc.constantFrom(1e308, -1, Number.MAX_SAFE_INTEGER, '9', true));
    const keys = [
      'timestamp',
      'start_ms',
      'duration_ms',
      'usage',
      'task_id',
      'arguments',
      'tool_name',
      'text',
      'capsule',
      'containment',
      'outcome',
      'status',
      'state',
      'host',
      'port',
      'turn',
    ];
    const types = [
      'inference',
      'tool_call',
      'shell',
      'session_start',
      'task_end',
      'delegation',
      'egress',
      'compaction',
      'plan_step',
      'anything',
    ];
    const events = fc.record(Object.fromEntries(keys.map((key) => [key, odd])), { requiredKeys: [] });
    fc.assert(
      fc.property(fc.constantFrom(...types), events, (type, fields) => {
        const row = readLine(JSON.stringify({ ...fields, event_type: type }));
        expect(row.durationMs).toBeGreaterThanOrEqual(0);
        expect(row.durationMs).toBeLessThanOrEqual(1e13);
        expect(row.name.length).toBeLessThanOrEqual(306);
        expect(row.detail.length).toBeLessThanOrEqual(260);
        expect(Number.isInteger(row.flags)).toBe(true);
      }),
      { numRuns: 500 },
    );
  });

  it('stays short where the line is long or nests deep', () => {
    const deep = `{"event_type":"tool_call","tool_name":"t","arguments":${'['.repeat(100_000)}${']'.repeat(100_000)}}`;
    expect(readLine(deep).detail.length).toBeLessThanOrEqual(160);
    const long = line({ event_type: 'task_received', task_id: 'x'.repeat(10_000), text: 'y'.repeat(10_000_000) });
    const { taskId, detail } = readLine(long);
    expect([taskId?.length, detail.length]).toEqual([128, 160]);
  });
});
