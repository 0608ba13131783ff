import { expect, it, describe } from 'vitest';

import {
  exitSentence,
  readDriverLine,
  decodeDriverLine,
  type DriverLine,
  encodeDriverRequest,
  requestLine,
} from './driver-lines.ts';

function said(...lines: readonly string[]): string {
  return exitSentence('the driver', {
    end: { kind: 'exited', exitCode: 1 },
    midLine: false,
    stderr: lines.join('\n'),
  });
}

it('exitSentence quotes the line that names the error, where a program says it between its first and its last', () => {
  expect(
    said(
      'node:internal/modules/cjs/loader:1210',
      '  throw err;',
      '  ^',
      '',
      "Error: Cannot find module '/work/nope.mjs'",
      '    at Module._resolveFilename (loader:1207:15)',
      '    at run_main:128:12',
      '    at main:28:49 {',
      "  code: 'MODULE_NOT_FOUND',",
      '  requireStack: []',
      '}',
      '',
      'Node.js v20.20.2',
    ),
  ).toBe(
    'the driver exited with status 1 before its response: node:internal/modules/cjs/loader:1210\n  throw err;\n…\n' +
      "Error: Cannot find module '/work/nope.mjs'\n…\n  code: 'MODULE_NOT_FOUND',\n  requireStack: []\n}\n\nNode.js v20.20.2",
  );
});

it('exitSentence quotes the first and the last lines where no line names an error', () => {
  expect(said('a', 'b', 'c', 'd', 'e', 'f', 'g', 'h')).toBe(
    'the driver exited with status 1 before its response: a\nb\n…\nd\ne\nf\ng\nh',
  );
});

it('readDriverLine reads a line that begins with a byte order mark, as some programs write it', () => {
  const bytes = Buffer.from('\ufeff{"a":1}');
  expect(readDriverLine({ kind: 'line', bytes }, 'the driver')).toEqual({ kind: 'value', value: { a: 1 } });
});

describe('a request in JSON', () => {
  it('follows the spelling of the dialect', () => {
    const request = encodeDriverRequest({
      model: 'm1',
      system: 'be brief',
      messages: [
        { role: 'user', content: [{ type: 'text', text: 'hello' }] },
        {
          role: 'assistant',
          content: [
            { type: 'thinking', text: 'hm', signature: 's' },
            { type: 'tool_call', id: 'c1', name: 'bash', input: { command: 'ls' } },
          ],
        },
        { role: 'tool', toolCallId: 'c1', isError: true, content: [{ type: 'text', text: 'no' }] },
      ],
      tools: [{ name: 'bash', description: 'runs', inputSchema: { type: 'object' } }],
      maxTokens: 100,
      continuationId: 'r_1',
    });
    expect(JSON.parse(JSON.stringify(request))).toEqual({
      model: 'm1',
      system: 'be brief',
      messages: [
        { role: 'user', content: [{ type: 'text', text: 'hello' }] },
        {
          role: 'assistant',
          content: [
            { type: 'thinking', text: 'hm', signature: 's' },
            { type: 'tool_call', id: 'c1', name: 'bash', input: { command: 'ls' } },
          ],
        },
        { role: 'tool', tool_call_id: 'c1', is_error: true, content: [{ type: 'text', text: 'no' }] },
      ],
      tools: [{ name: 'bash', description: 'runs', input_schema: { type: 'object' } }],
      max_tokens: 100,
      continuation_id: 'r_1',
    });
  });

  it('leaves out a continuation id that it does not have', () => {
    const request = encodeDriverRequest({ model: '', system: '', messages: [], tools: [], maxTokens: 1 });
    expect(Object.keys(request)).toEqual(['model', 'system', 'messages', 'tools', 'max_tokens']);
  });
});

function decodeResponse(response: unknown): DriverLine {
  return decodeDriverLine({ type: 'response', response });
}

describe('a response in JSON', () => {
  it('may hold everything that the protocol has', () => {
    const wire = {
      content: [
        { type: 'text', text: 'a', extra: 1 },
        { type: 'thinking', text: 'b', signature: 's' },
        { type: 'tool_call', id: 'c1', name: 'bash', input: { command: 'ls' } },
      ],
      stop_reason: 'tool_call',
      usage: { input_tokens: 3, output_tokens: 4 },
      continuation_id: 'r_2',
      unknown: true,
    };
    expect(decodeResponse(wire)).toEqual({
      kind: 'response',
      response: {
        content: [
          { type: 'text', text: 'a' },
          { type: 'thinking', text: 'b', signature: 's' },
          { type: 'tool_call', id: 'c1', name: 'bash', input: { command: 'ls' } },
        ],
        stopReason: 'tool_call',
        usage: { inputTokens: 3, outputTokens: 4 },
        continuationId: 'r_2',
      },
    });
  });

  it('may have null where a key may be absent, and a call without an id', () => {
    const wire = {
      content: [
        { type: 'tool_call', name: 'a', input: null },
        { type: 'thinking', text: 't', signature: null },
      ],
      stop_reason: 'error',
      error: 'overloaded',
      usage: null,
      continuation_id: null,
    };
    expect(decodeResponse(wire)).toEqual({
      kind: 'response',
      response: {
        content: [
          { type: 'tool_call', id: '', name: 'a', input: null },
          { type: 'thinking', text: 't' },
        ],
        stopReason: 'error',
        error: 'overloaded',
      },
    });
  });

  it('keeps a stop reason it does not know', () => {
    expect(decodeResponse({ content: [], stop_reason: 'pause_turn' })).toMatchObject({
      response: { stopReason: 'pause_turn' },
    });
  });
});

describe('a line of a driver', () => {
  it('holds a chunk, a thinking chunk or a response', () => {
    expect(decodeDriverLine({ type: 'chunk', text: 'a' })).toEqual({ kind: 'chunk', text: 'a' });
    expect(decodeDriverLine({ type: 'thinking', text: 'b' })).toEqual({ kind: 'thinking', text: 'b' });
    expect(decodeDriverLine({ type: 'response', response: { content: [], stop_reason: 'end_turn' } })).toEqual({
      kind: 'response',
      response: { content: [], stopReason: 'end_turn' },
    });
  });

  it.each<[unknown, RegExp]>([
    [7, /^the line /],
    [null, /^the line /],
    [[], /^the line /],
    [{}, /^type /],
    [{ type: 'log', text: 'x' }, /^type /],
    [{ type: 'chunk' }, /^text /],
    [{ type: 'response' }, /^response /],
    [{ type: 'response', response: { stop_reason: 'end_turn' } }, /^response\.content /],
    [{ type: 'response', response: { content: [], stop_reason: 3 } }, /^response\.stop_reason /],
    [
      { type: 'response', response: { content: [{ type: 'image' }], stop_reason: 'x' } },
      /^response\.content\[0\]\.type /,
    ],
    [
      { type: 'response', response: { content: [], stop_reason: 'x', usage: { input_tokens: -1, output_tokens: 0 } } },
      /^response\.usage\.input_tokens /,
    ],
  ])('fails as %j, and the error says where', (value, problem) => {
    const line = decodeDriverLine(value);
    expect(line.kind).toBe('wrong');
    expect(line.kind === 'wrong' ? line.problem : '').toMatch(problem);
  });
});

it('a response of hundreds of thousands of blocks is wrong, and the input of a call may hold as much', () => {
  const many = Array.from({ length: 300_000 }, () => 0);
  expect(decodeDriverLine({ type: 'response', response: { content: many, stop_reason: 'end_turn' } })).toEqual({
    kind: 'wrong',
    problem: 'response.content has more than 16384 blocks',
  });
  const content = [{ type: 'tool_call', name: 'sum', input: { numbers: many } }];
  const line = decodeDriverLine({ type: 'response', response: { content, stop_reason: 'tool_call' } });
  expect(line.kind).toBe('response');
});

it('a line keeps the digits of arguments that JavaScript cannot hold, when it is read and when it is written', () => {
  const call = '{"type":"tool_call","id":"c1","name":"find","input":{"id":1234567890123456789}}';
  const bytes = Buffer.from(
    `{"type":"response","response":{"content":[{"type":"text","text":"x"},${call}],"stop_reason":"tool_call"}}`,
  );
  const reading = readDriverLine({ kind: 'line', bytes }, 'the driver');
  if (reading.kind !== 'value') throw new Error(reading.kind);
  const line = decodeDriverLine(reading.value, reading.digits);
  if (line.kind !== 'response') throw new Error(line.kind);
  const { content } = line.response;
  expect(content[1]).toMatchObject({ digits: { '/id': '1234567890123456789' } });
  const request = {
    model: '',
    system: '',
    messages: [{ role: 'assistant', content }],
    tools: [],
    maxTokens: 1,
  } as const;
  expect(requestLine(request)).toContain(`"content":[{"type":"text","text":"x"},${call}]`);
});
