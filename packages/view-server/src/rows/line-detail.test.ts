import { describe, expect, it } from 'vitest';

import { detailOf } from './line-detail.ts';

const line = (type: string, fields: object): string =>
  JSON.stringify({ event_type: type, event_id: `evt_${type}`, timestamp: 1000, task_id: 'tsk_1', ...fields });

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
      ['Duration', 1500, 'ms'],
      ['Usage', 'input_tokens: 7, output_tokens: 2'],
      ['First byte after', 20, 'ms'],
      ['Content bytes', 1500, 'bytes'],
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

  it('has all digits of a number that JavaScript rounds', () => {
    const call = line('tool_call', { tool_name: 'find', arguments: { ids: [0] } });
    const { arguments: given, line: whole } = detailOf(call.replace('[0]', '[1234567890123456789]'), 7);
    expect(given).toMatchObject({ text: '{\n  "ids": [\n    1234567890123456789\n  ]\n}' });
    expect(whole).toMatchObject({ text: expect.stringContaining('1234567890123456789') });
    const facts = line('tool_call', { count: 0, of: [0] })
      .replace('"count":0', '"count":1e400')
      .replace('[0]', '[98765432109876543210]');
    expect(detailOf(facts, 7).facts.slice(1)).toEqual([
      ['Count', '1e400'],
      ['Of', '98765432109876543210'],
    ]);
  });

  it('has the line itself where it is damaged, cut to what is shown', () => {
    const detail = detailOf(`{${'x'.repeat(2_000_000)}`, 7);
    expect(detail.line.kind === 'text' ? [detail.line.text.length, detail.line.more] : null).toEqual([
      1_048_576, 951_425,
    ]);
  });

  it.each([
    ['deep', `${'['.repeat(3000)}${'1,'.repeat(20_000)}1${']'.repeat(3000)}`],
    ['deep in many places', `[${Array.from({ length: 5000 }, () => '['.repeat(58) + ']'.repeat(58)).join(',')}]`],
  ])('has what nests %s in one line each', (_what, nested) => {
    const whole = `{"event_type":"tool_call","arguments":${nested}}`;
    const { arguments: given, line: shown } = detailOf(whole, 7);
    expect([given, shown]).toEqual([
      { kind: 'text', text: nested, more: 0 },
      { kind: 'text', text: whole, more: 0 },
    ]);
  });

  it('has the written form where it nests too deep for JSON to be made of it', () => {
    const whole = `{"event_type":"tool_call","arguments":${'['.repeat(100_000)}${']'.repeat(100_000)}}`;
    const { arguments: given, line: shown } = detailOf(whole, 7);
    expect([given, shown]).toEqual([
      { kind: 'none', why: 'It nests too deep to be shown.' },
      { kind: 'text', text: whole, more: 0 },
    ]);
  });

  it('has several lines where it nests as people do', () => {
    const given = detailOf('{"event_type":"tool_call","arguments":{"a":[1]}}', 7).arguments;
    expect(given).toEqual({ kind: 'text', text: '{\n  "a": [\n    1\n  ]\n}', more: 0 });
  });

  it('says why a line of many values is not laid out, and shows how it begins', () => {
    const detail = detailOf(`{"event_type":"shell","arguments":[${'0,'.repeat(400_000)}0]}`, 7);
    expect([detail.arguments, detail.facts]).toEqual([null, []]);
    expect(detail.texts).toEqual([
      {
        label: 'Why',
        isWhy: true,
        text: {
          kind: 'text',
          text: 'The line holds more than 300,000 values, or nests too deep: only its beginning is shown.',
          more: 0,
        },
      },
    ]);
    expect(detail.line).toMatchObject({ kind: 'text', more: 0 });
  });
});
