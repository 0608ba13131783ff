import { describe, expect, it } from 'vitest';

import type { InferenceRequest } from './driver.ts';
import { decodeWitResponse, encodeWitRequest } from './wit-driver.ts';

const request: InferenceRequest = { model: 'm1', system: 's', messages: [], tools: [], maxTokens: 10 };

const surroundings = { endpoint: 'https://api.example.test', apiKeyPlaceholder: 'key_1', config: { a: 1 } };

describe('a request for a component', () => {
  it('becomes the record of the driver world', () => {
    const full: InferenceRequest = {
      ...request,
      messages: [
        { role: 'user', content: [{ type: 'text', text: 'hello' }] },
        {
          role: 'assistant',
          content: [
            { type: 'thinking', text: 'hm', signature: 's' },
            { type: 'thinking', text: 'hm' },
            { type: 'tool_call', id: 'c1', name: 'bash', input: { command: 'ls' } },
          ],
        },
        { role: 'tool', toolCallId: 'c1', isError: false, content: [{ type: 'text', text: 'out' }] },
      ],
      tools: [{ name: 'bash', description: 'runs', inputSchema: { type: 'object' } }],
      continuationId: 'r_1',
    };
    expect(encodeWitRequest(full, surroundings)).toEqual({
      model: 'm1',
      endpoint: 'https://api.example.test',
      apiKey: 'key_1',
      config: '{"a":1}',
      system: 's',
      messages: [
        { tag: 'user', val: [{ tag: 'text', val: 'hello' }] },
        {
          tag: 'assistant',
          val: [
            { tag: 'thinking', val: { text: 'hm', signature: 's' } },
            { tag: 'thinking', val: { text: 'hm', signature: null } },
            { tag: 'tool-call', val: { id: 'c1', name: 'bash', input: '{"command":"ls"}' } },
          ],
        },
        { tag: 'tool', val: { toolCallId: 'c1', isError: false, content: [{ tag: 'text', val: 'out' }] } },
      ],
      tools: [{ name: 'bash', description: 'runs', inputSchema: '{"type":"object"}' }],
      maxTokens: 10,
      continuationId: 'r_1',
    });
  });

  it('has null where an option is missing, and no more tokens than fit', () => {
    const encoded = encodeWitRequest(
      { ...request, maxTokens: 10 ** 12 },
      { endpoint: '', apiKeyPlaceholder: undefined, config: {} },
    );
    expect(encoded).toMatchObject({
      apiKey: null,
      continuationId: null,
      maxTokens: 2_147_483_647,
      config: '{}',
    });
  });

  it('leaves a call input of too many values as the text that it is', () => {
    const text = `[${'{},'.repeat(300_000)}0]`;
    const record = {
      content: [{ tag: 'tool-call', val: { id: '', name: 'a', input: text } }],
      stopReason: { tag: 'tool-call' },
    };
    expect(decodeWitResponse(record)?.content).toEqual([{ type: 'tool_call', id: '', name: 'a', input: text }]);
  });

  it.each([
    ['{"path": ', '{"path": '],
    ['', ''],
    [undefined, '{}'],
    [null, '{}'],
    [{}, '{}'],
    [[1], '[1]'],
  ])('gives back the call input %j as %j', (input, text) => {
    const messages: InferenceRequest['messages'] = [
      { role: 'assistant', content: [{ type: 'tool_call', id: '', name: 'a', input }] },
    ];
    expect(encodeWitRequest({ ...request, messages }, surroundings)).toMatchObject({
      messages: [{ val: [{ val: { input: text } }] }],
    });
  });
});

describe('a number that JavaScript cannot hold', () => {
  it('keeps its digits from the model to the conversation', () => {
    const input = '{"ids":[1234567890123456789],"most":1e400}';
    const record = {
      content: [{ tag: 'tool-call', val: { id: 'c1', name: 'find', input } }],
      stopReason: { tag: 'tool-call' },
    };
    const content = decodeWitResponse(record)?.content ?? [];
    expect(content).toEqual([
      {
        type: 'tool_call',
        id: 'c1',
        name: 'find',
        input: { ids: [1234567890123456800], most: null },
        digits: { '/ids/0': '1234567890123456789', '/most': '1e400' },
      },
    ]);
    const surroundings = { endpoint: '', apiKeyPlaceholder: undefined, config: {} };
    const messages = [{ role: 'assistant', content }] as const;
    const request = { model: 'm', system: '', messages, tools: [], maxTokens: 1 };
    expect(encodeWitRequest(request, surroundings)).toMatchObject({
      messages: [{ val: [{ val: { input } }] }],
    });
  });
});

describe('a response of a component', () => {
  it('may hold everything that the world has', () => {
    const record = {
      content: [
        { tag: 'text', val: 'a' },
        { tag: 'thinking', val: { text: 'b', signature: undefined } },
        { tag: 'thinking', val: { text: 'c', signature: 's' } },
        { tag: 'tool-call', val: { id: 'c1', name: 'bash', input: '{"command":"ls"}' } },
      ],
      stopReason: { tag: 'tool-call' },
      usage: { inputTokens: 3n, outputTokens: 2n ** 64n - 1n },
      continuationId: 'r_2',
    };
    expect(decodeWitResponse(record)).toEqual({
      content: [
        { type: 'text', text: 'a' },
        { type: 'thinking', text: 'b' },
        { type: 'thinking', text: 'c', signature: 's' },
        { type: 'tool_call', id: 'c1', name: 'bash', input: { command: 'ls' } },
      ],
      stopReason: 'tool_call',
      usage: { inputTokens: 3, outputTokens: Number.MAX_SAFE_INTEGER },
      continuationId: 'r_2',
    });
  });

  it.each([
    [{ tag: 'end-turn' }, { stopReason: 'end_turn' }],
    [{ tag: 'max-tokens' }, { stopReason: 'max_tokens' }],
    [{ tag: 'tool-call' }, { stopReason: 'tool_call' }],
    [
      { tag: 'error', val: 'overloaded' },
      { stopReason: 'error', error: 'overloaded' },
    ],
    [{ tag: 'other', val: 'refusal' }, { stopReason: 'other: refusal' }],
    [{ tag: 'other', val: 'end_turn' }, { stopReason: 'other: end_turn' }],
  ])('may have the stop reason %j', (reason, expected) => {
    const record = { content: [], stopReason: reason, usage: undefined, continuationId: undefined };
    expect(decodeWitResponse(record)).toEqual({ content: [], ...expected });
  });

  it.each([
    ['{"path": ', '{"path": '],
    ['', ''],
    ['"text"', '"text"'],
    ['7', 7],
    ['[1]', [1]],
    ['['.repeat(10_000) + ']'.repeat(10_000), '['.repeat(10_000) + ']'.repeat(10_000)],
  ])('has the call input %j as it can be judged', (text, input) => {
    const record = {
      content: [{ tag: 'tool-call', val: { id: '', name: 'a', input: text } }],
      stopReason: { tag: 'tool-call' },
    };
    expect(decodeWitResponse(record)?.content).toEqual([{ type: 'tool_call', id: '', name: 'a', input }]);
  });

  it.each([
    [undefined],
    ['text'],
    [{}],
    [{ content: [], stopReason: 'end-turn' }],
    [{ content: [], stopReason: { tag: 'done' } }],
    [{ content: [{ tag: 'image', val: '' }], stopReason: { tag: 'end-turn' } }],
    [{ content: [], stopReason: { tag: 'end-turn' }, usage: { inputTokens: 1, outputTokens: 1 } }],
  ])('fails when it is %j', (value) => {
    expect(decodeWitResponse(value)).toBeNull();
  });

  it('fails with hundreds of thousands of blocks', () => {
    const content = Array.from({ length: 300_000 }, () => 0);
    expect(decodeWitResponse({ content, stopReason: { tag: 'end-turn' } })).toBeNull();
  });
});
