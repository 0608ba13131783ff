import { describe, expect, it } from 'vitest';

import { decodeFrame } from './decode-frame.ts';

const decoded = (event: string, data: string): unknown => decodeFrame({ id: undefined, event, data });
const gapId = (data: string): string | null => {
  const frame = decodeFrame({ id: undefined, event: 'gap', data });
  return frame?.event === 'gap' && frame.firstAvailableId !== null ? String(frame.firstAvailableId) : null;
};

describe('first_available_id of a gap', () => {
  it.each([
    ['{"first_available_id":0}', '0'],
    ['{"first_available_id":9007199254740993}', '9007199254740993'],
    ['{"first_available_id":18446744073709551615}', '18446744073709551615'],
    [
      '{ "later" : {"first_available_id":5}, "first_available_id" :\t9223372036854775807 , "n":[1.5e3,-2] }',
      '9223372036854775807',
    ],
    ['{"a\\"first_available_id\\":1":"\\\\","first_available_id":4611686018427387903}', '4611686018427387903'],
    ['{"note":"\\"first_available_id\\":7, 8","first_available_id":12}', '12'],
  ])('decodes %s as %s', (data, id) => {
    expect(gapId(data)).toBe(id);
  });

  it.each([
    '{}',
    '{"first_available_id":"12"}',
    '{"first_available_id":-1}',
    '{"first_available_id":1.5}',
    '{"first_available_id":1e3}',
    '{"first_available_id":1e999}',
    '{"first_available_id":123456789012345678901}',
    '{"first_available_id":null}',
    '{"x":{"first_available_id":5}}',
    '[]',
    'null',
    '',
    'first_available_id: 5',
  ])('decodes %j as no id', (data) => {
    expect(gapId(data)).toBeNull();
  });

  it('decodes behind a text of any length', () => {
    expect(gapId(`{"a":"${'\\n'.repeat(5_000_000)}","first_available_id":1}`)).toBe('1');
  });
});

describe('the text of an error frame', () => {
  it.each([
    ['{"error":"internal error: queue send failed"}', 'internal error: queue send failed'],
    [
      '{"error":"Invalid params: expected "parts" at 1","more":1}',
      '{"error":"Invalid params: expected "parts" at 1","more":1}',
    ],
    ['{"error":"Invalid params: unknown field "role""}', 'Invalid params: unknown field "role"'],
    ['{"error":"bad \\escape"}', 'bad \\escape'],
    ['{"error":5}', '{"error":5}'],
    ['{"error":"', '{"error":"'],
    ['broken', 'broken'],
    ['', ''],
  ])('decodes %j as %j', (data, text) => {
    expect(decoded('error', data)).toEqual({ event: 'error', error: text });
  });
});

describe('the data of a frame', () => {
  it('has no value when it nests deep', () => {
    expect(decoded('status', '['.repeat(5_000_000))).toBeNull();
  });

  it('has no value when it holds too many values', () => {
    const data = (objects: number): string =>
      `{"id":"t","text":"a","later":[${Array.from({ length: objects }, () => '{}').join()}]}`;
    expect(decoded('text', data(16_382))).toMatchObject({ text: 'a' });
    expect(decoded('text', data(16_383))).toBeNull();
  });

  it.each([
    ['status', '"status":{"state":"working"}'],
    ['artifact', '"artifact":{"content":"a"}'],
    ['text', '"text":"a"'],
  ])('has no value for a %s with a task id of more than 256 characters', (event, rest) => {
    expect(decoded(event, `{"id":"${'t'.repeat(256)}",${rest}}`)).toMatchObject({ taskId: 't'.repeat(256) });
    expect(decoded(event, `{"id":"${'t'.repeat(257)}",${rest}}`)).toBeNull();
  });

  it('lacks other ids of more than 1024 characters', () => {
    const status = (id: string): string => `{"id":"t","context_id":"${id}","status":{"state":"working"}}`;
    const artifact = (id: string): string => `{"id":"t","artifact":{"content":"a","tool_call_id":"${id}"}}`;
    const [whole, long] = ['i'.repeat(1024), 'i'.repeat(1025)];
    expect(decoded('status', status(whole))).toMatchObject({ contextId: whole });
    expect(decoded('status', status(long))).toMatchObject({ contextId: null });
    expect(decoded('artifact', artifact(whole))).toMatchObject({ toolCallId: whole });
    expect(decoded('artifact', artifact(long))).toMatchObject({ toolCallId: null });
  });
});
