import { expect, it } from 'vitest';

import { renderFrameJson } from './frame-json.ts';

it.each([
  [
    { id: '18446744073709551615', event: 'text', data: '{"id":"t","text":"a\\nb","n":9007199254740993,"final":false}' },
    '{"id":"18446744073709551615","event":"text","data":{"id":"t","text":"a\\nb","n":9007199254740993,"final":false}}',
  ],
  [
    { id: undefined, event: 'gap', data: '{"first_available_id":18446744073709551615}' },
    '{"event":"gap","data":{"first_available_id":18446744073709551615}}',
  ],
  [
    { id: '1', event: 'text', data: '{ "b" : 1.50e+1,\t"a":"\\u00e9é" }' },
    '{"id":"1","event":"text","data":{ "b" : 1.50e+1,\t"a":"\\u00e9é" }}',
  ],
  [{ id: '1', event: 'text', data: '{\n"a": "b"\n}' }, '{"id":"1","event":"text","data":{ "a": "b" }}'],
  [
    { id: '1', event: 'error', data: '{"error":"not "quoted""}' },
    '{"id":"1","event":"error","data":"{\\"error\\":\\"not \\"quoted\\"\\"}"}',
  ],
  [{ id: '1', event: 'text', data: 'two\nlines' }, '{"id":"1","event":"text","data":"two\\nlines"}'],
  [{ id: 'a"b', event: 'new "kind"', data: '' }, '{"id":"a\\"b","event":"new \\"kind\\"","data":""}'],
  [{ id: '', event: 'message', data: 'null' }, '{"id":"","event":"message","data":null}'],
])('%j is one line of JSON with its data as it came', (frame, line) => {
  expect(renderFrameJson(frame).text).toBe(`${line}\n`);
});

it('shows data that nests too deep to be checked as a string', () => {
  const data = '['.repeat(501) + ']'.repeat(501);
  expect(JSON.parse(renderFrameJson({ id: undefined, event: 'x', data }).text)).toEqual({ event: 'x', data });
});

it('shows data that holds too many values to be checked as a string', () => {
  const data = `[${'{},'.repeat(20_000)}{}]`;
  expect(JSON.parse(renderFrameJson({ id: undefined, event: 'x', data }).text)).toEqual({ event: 'x', data });
});
