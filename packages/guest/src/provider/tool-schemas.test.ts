import { describe, expect, it } from 'vitest';

import {
  askChatCompletions,
  askMessages,
  driverRequest,
  events,
  ScriptedPorts,
} from '../../../../test/artifacts/scripted-ports.ts';
import type { Message } from '../driver.ts';
import { schemaOf } from './tool-schemas.ts';

const text = { type: 'string' };
const parametersOf = (schema: object): unknown => schemaOf({ inputSchema: JSON.stringify(schema) }).parameters;

describe('the schema of a tool, as a strict provider takes it', () => {
  it('is that of an object even when the tool has none', () => {
    expect(schemaOf({ inputSchema: '{}' }).parameters).toEqual({ type: 'object', properties: {} });
    expect(schemaOf({ inputSchema: 'x' }).parameters).toEqual({ type: 'object', properties: {} });
  });

  it('keeps combinators below its root', () => {
    const schema = { type: 'object', properties: { a: { anyOf: [text, { type: 'null' }] } }, required: ['a'] };
    expect(parametersOf(schema)).toEqual(schema);
  });

  it('takes what any branch of its root takes', () => {
    const properties = { route: text, file: text };
    expect(
      parametersOf({ type: 'object', properties, anyOf: [{ required: ['route'] }, { required: ['file'] }] }),
    ).toEqual({ type: 'object', properties });
    expect(
      parametersOf({
        oneOf: [
          { type: 'object', properties: { kind: { const: 'a' }, a: text }, required: ['kind', 'a'] },
          { $ref: '#/$defs/b' },
        ],
        $defs: { b: { type: 'object', properties: { kind: { const: 'b' }, b: text }, required: ['kind', 'b'] } },
      }),
    ).toMatchObject({
      type: 'object',
      properties: { kind: { anyOf: [{ const: 'a' }, { const: 'b' }] }, a: text, b: text },
      required: ['kind'],
    });
  });

  it('takes what all branches of its root take together', () => {
    const allOf = [
      { properties: { a: text }, required: ['a'] },
      { properties: { b: text }, required: ['b'] },
    ];
    expect(parametersOf({ type: 'object', allOf, not: { required: ['c'] } })).toEqual({
      type: 'object',
      properties: { a: text, b: text },
      required: ['a', 'b'],
    });
  });

  it('ends where a schema refers to itself', () => {
    expect(parametersOf({ $ref: '#/$defs/a', $defs: { a: { $ref: '#/$defs/a' } } })).toMatchObject({ type: 'object' });
    const self = { $ref: '#/$defs/a' };
    const nest = { oneOf: [self, self, { anyOf: [self, self, { properties: { $a: self } }] }] };
    const { parameters, fromProvider } = schemaOf({ inputSchema: JSON.stringify({ ...nest, $defs: { a: nest } }) });
    expect(parameters).toMatchObject({ type: 'object', properties: { _a: self } });
    expect(fromProvider('{"_a":{"_a":{}}}')).toBe('{"$a":{"$a":{}}}');
    expect(parametersOf({ $ref: '#/%zz' })).toEqual({ type: 'object', properties: {} });
  });
});

const long = 'x'.repeat(65);
const odd = {
  type: 'object',
  properties: {
    $filter: text,
    _filter: text,
    [long]: text,
    rows: { type: 'array', items: { type: 'object', properties: { 'a b': { type: 'integer' } }, required: ['a b'] } },
    free: { type: 'object' },
  },
  required: ['$filter'],
};
const own = `{"$filter":"x","${long}":"y","rows":[{"a b":1234567890123456789}],"free":{"$filter":1.50}}`;
const told = `{"_filter_2":"x","${'x'.repeat(64)}":"y","rows":[{"a_b":1234567890123456789}],"free":{"$filter":1.50}}`;

describe('names of properties that providers refuse', () => {
  const ab = { inputSchema: JSON.stringify({ properties: { 'a b': { type: 'string' }, '\u0000#1': {} } }) };

  it.each([
    ['a text that looks like a number of theirs', '\u0000#12'],
    ['a text that ends like one', 'x"\u0000#12'],
    ['null characters in a row', `${'\u0000'.repeat(5)}#12`],
    ['a backslash before one', '\\\\u0000#12'],
  ])('stand beside %s, which stays as it is', (_, value) => {
    const { toProvider, fromProvider } = schemaOf(ab);
    const given = JSON.stringify({ 'a b': value, c: [value, 1.5], '\u0000#1': 2 });
    expect(JSON.parse(toProvider(given))).toEqual({ a_b: value, c: [value, 1.5], __1: 2 });
    expect(fromProvider(toProvider(given))).toBe(given);
  });

  it('are told in arguments with millions of escapes', () => {
    const text = `{"a b":"${'\\n'.repeat(9_000_000)}","c":12345678901234567890}`;
    expect(schemaOf(ab).toProvider(text)).toBe(text.replace('a b', 'a_b'));
  });

  it('are read once for each schema, of the 256 that were asked for last', () => {
    const numbered = (number: number): { inputSchema: string } => ({ inputSchema: `{"title":"${number}"}` });
    const first = schemaOf(numbered(0));
    for (let number = 1; number < 600; number += 1) {
      for (const each of [number, -number]) schemaOf(numbered(each));
      expect(schemaOf(numbered(0))).toBe(first);
    }
    const kept = schemaOf(numbered(400));
    expect(schemaOf(numbered(400))).toBe(kept);
  });

  it('are others in the schema, and in the arguments that it declares, and back, digit by digit', () => {
    const { parameters, toProvider, fromProvider } = schemaOf({ inputSchema: JSON.stringify(odd) });
    expect(parameters).toMatchObject({
      properties: {
        _filter_2: text,
        _filter: text,
        ['x'.repeat(64)]: text,
        rows: { items: { properties: { a_b: { type: 'integer' } }, required: ['a_b'] } },
      },
      required: ['_filter_2'],
    });
    expect(toProvider(own)).toBe(told);
    expect(fromProvider(told)).toBe(own);
    expect(fromProvider('{"a":')).toBe('{"a":');
  });

  it('are left alone where the schema has none', () => {
    const { toProvider } = schemaOf({ inputSchema: '{"$schema":"x","properties":{"a":{}}}' });
    expect(toProvider('{"$filter": 1}')).toBe('{"$filter": 1}');
  });

  it.each([
    [
      'Chat Completions',
      askChatCompletions,
      events({
        choices: [
          {
            delta: { tool_calls: [{ index: 0, id: 'c1', function: { name: 'find', arguments: told } }] },
            finish_reason: 'tool_calls',
          },
        ],
      }),
    ],
    [
      'Messages',
      askMessages,
      events(
        {
          type: 'content_block_start',
          index: 0,
          content_block: { type: 'tool_use', id: 'c1', name: 'find', input: {} },
        },
        { type: 'content_block_delta', index: 0, delta: { type: 'input_json_delta', partial_json: told } },
        { type: 'message_delta', delta: { stop_reason: 'tool_use' } },
        { type: 'message_stop' },
      ),
    ],
  ])('come and go by the names of %s', (_, infer, pieces) => {
    const tools = [{ name: 'find', description: '', inputSchema: JSON.stringify(odd) }];
    const messages: readonly Message[] = [
      { tag: 'user', val: [{ tag: 'text', val: 'find' }] },
      { tag: 'assistant', val: [{ tag: 'tool-call', val: { id: 'c0', name: 'find', input: own } }] },
      { tag: 'tool', val: { toolCallId: 'c0', isError: false, content: [] } },
    ];
    const ports = new ScriptedPorts({ pieces });
    const { content } = infer(driverRequest({ tools, messages }), ports);
    expect(content).toEqual([{ tag: 'tool-call', val: { id: 'c1', name: 'find', input: own } }]);
    const body = ports.bodyText();
    expect(body.includes(told) || body.includes(JSON.stringify(told))).toBe(true);
    expect(body).toContain('"_filter_2":{"type":"string"}');
  });
});
