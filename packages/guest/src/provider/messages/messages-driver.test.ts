import { describe, expect, it } from 'vitest';

import {
  askMessages as infer,
  driverRequest,
  events,
  ScriptedPorts,
} from '../../../../../test/artifacts/scripted-ports.ts';
import type { ContentBlock, Message } from '../../driver.ts';

const start = { type: 'message_start', message: { usage: { input_tokens: 9, output_tokens: 1 } } };
const opened = (index: number, content_block: object): object => ({
  type: 'content_block_start',
  index,
  content_block,
});
const delta = (index: number, value: object): object => ({ type: 'content_block_delta', index, delta: value });
const stopped = (index: number): object => ({ type: 'content_block_stop', index });
const ended = (stop_reason: string): object => ({
  type: 'message_delta',
  delta: { stop_reason },
  usage: { output_tokens: 4 },
});
const end = { type: 'message_stop' };

const mark = { cache_control: { type: 'ephemeral' } };
const uncached = '{"prompt_caching":false}';

/** A signature of the model m-1 at the server of these tests. */
const signed = (signature: string, model = 'm-1'): string =>
  `companions:${JSON.stringify({ giver: `messages http://127.0.0.1:9 ${model}`, signature })}`;

const text = (val: string) => ({ tag: 'text', val }) as const;
const user = (val: string): Message => ({ tag: 'user', val: [text(val)] });

function played(...given: readonly unknown[]): {
  readonly ports: ScriptedPorts;
  readonly response: ReturnType<typeof infer>;
} {
  const ports = new ScriptedPorts({ pieces: events(...given) });
  return { ports, response: infer(driverRequest(), ports) };
}

function requested(changes: Parameters<typeof driverRequest>[0]): ScriptedPorts {
  const ports = new ScriptedPorts({ pieces: events(start, ended('end_turn'), end) });
  infer(driverRequest(changes), ports);
  return ports;
}

describe('the request to a Messages server', () => {
  it('streams and holds the placeholder of the key', () => {
    const ports = requested({ apiKey: 'PLACEHOLDER', system: 'Be brief.' });
    expect(ports.requests[0]?.url).toBe('http://127.0.0.1:9/v1/messages');
    expect(ports.header('x-api-key')).toBe('PLACEHOLDER');
    expect(ports.header('anthropic-version')).toBe('2023-06-01');
    expect(ports.body()).toEqual({
      model: 'm-1',
      max_tokens: 512,
      system: [{ type: 'text', text: 'Be brief.', ...mark }],
      messages: [{ role: 'user', content: [{ type: 'text', text: 'hello', ...mark }] }],
      stream: true,
    });
  });

  it('gives signed thinking back, and puts all results of a turn into one message', () => {
    const messages: readonly Message[] = [
      user('look twice'),
      {
        tag: 'assistant',
        val: [
          { tag: 'thinking', val: { text: 'hm', signature: 'c2ln' } },
          { tag: 'thinking', val: { text: '', signature: 'redacted_thinking:b3BhcXVl' } },
          { tag: 'thinking', val: { text: 'of another provider', signature: null } },
          text('  '),
          { tag: 'tool-call', val: { id: 'toolu_1', name: 'look', input: '{"a":1}' } },
          { tag: 'tool-call', val: { id: 'toolu_2', name: 'look', input: 'oops' } },
        ],
      },
      { tag: 'tool', val: { toolCallId: 'toolu_1', isError: false, content: [text('one'), text('two')] } },
      { tag: 'tool', val: { toolCallId: 'toolu_2', isError: true, content: [text('bad arguments')] } },
      user('go on'),
    ];
    expect(requested({ messages, config: uncached }).body()['messages']).toEqual([
      { role: 'user', content: [{ type: 'text', text: 'look twice' }] },
      {
        role: 'assistant',
        content: [
          { type: 'thinking', thinking: 'hm', signature: 'c2ln' },
          { type: 'redacted_thinking', data: 'b3BhcXVl' },
          { type: 'tool_use', id: 'toolu_1', name: 'look', input: { a: 1 } },
          { type: 'tool_use', id: 'toolu_2', name: 'look', input: { invalid_arguments: 'oops' } },
        ],
      },
      {
        role: 'user',
        content: [
          { type: 'tool_result', tool_use_id: 'toolu_1', content: 'one\ntwo' },
          { type: 'tool_result', tool_use_id: 'toolu_2', content: 'bad arguments', is_error: true },
          { type: 'text', text: 'go on' },
        ],
      },
    ]);
  });

  it('leaves out a message that says nothing', () => {
    const messages: readonly Message[] = [user('a'), { tag: 'assistant', val: [text(' ')] }, user('b')];
    expect(requested({ messages, config: uncached }).body()['messages']).toEqual([
      {
        role: 'user',
        content: [
          { type: 'text', text: 'a' },
          { type: 'text', text: 'b' },
        ],
      },
    ]);
  });

  it('follows the configuration', () => {
    const config = {
      temperature: 1,
      top_k: 5,
      stop: 'END',
      thinking_budget: 2048,
      headers: { 'anthropic-beta': 'x' },
      extra_body: { metadata: { user_id: 'u' } },
    };
    const tools = [{ name: 'python3.11', description: 'Runs.', inputSchema: '{}' }];
    const ports = requested({ config: JSON.stringify(config), maxTokens: 4096, tools });
    expect(ports.body()).toMatchObject({
      temperature: 1,
      top_k: 5,
      stop_sequences: ['END'],
      thinking: { type: 'enabled', budget_tokens: 2048 },
      metadata: { user_id: 'u' },
      tools: [{ name: 'python3_11', description: 'Runs.', input_schema: { type: 'object', properties: {} }, ...mark }],
    });
    expect(ports.header('anthropic-beta')).toBe('x');
  });

  it('gives thinking and odd ids back to the model that gave them alone', () => {
    const thought = (text: string, signature: string): ContentBlock => ({ tag: 'thinking', val: { text, signature } });
    const call = (id: string): ContentBlock => ({ tag: 'tool-call', val: { id, name: 'look', input: '{}' } });
    const result = (toolCallId: string): Message => ({ tag: 'tool', val: { toolCallId, isError: false, content: [] } });
    const messages: readonly Message[] = [
      user('look'),
      {
        tag: 'assistant',
        val: [thought('hm', signed('c2ln')), thought('', signed('redacted_thinking:b3Bh')), call('a b')],
      },
      result('a b'),
      { tag: 'assistant', val: [thought('hm', signed('c2ln', 'm-2')), call('c d'), call('c d')] },
      result('c d'),
      result('c d'),
    ];
    const sent = requested({ messages, config: uncached }).body()['messages'] as readonly { content: unknown }[];
    expect(sent.map(({ content }) => content).slice(1)).toEqual([
      [
        { type: 'thinking', thinking: 'hm', signature: 'c2ln' },
        { type: 'redacted_thinking', data: 'b3Bh' },
        { type: 'tool_use', id: 'a b', name: 'look', input: {} },
      ],
      [{ type: 'tool_result', tool_use_id: 'a b', content: '' }],
      [
        { type: 'tool_use', id: 'call_2', name: 'look', input: {} },
        { type: 'tool_use', id: 'call_3', name: 'look', input: {} },
      ],
      [
        { type: 'tool_result', tool_use_id: 'call_2', content: '' },
        { type: 'tool_result', tool_use_id: 'call_3', content: '' },
      ],
    ]);
  });

  it('gives unsigned thinking back with the calls that it came with, and odd ids without any thinking', () => {
    const called = (...blocks: readonly object[]): readonly unknown[] => [
      start,
      ...blocks.map((block, index) => opened(index, block)),
      ended('tool_use'),
      end,
    ];
    const backOf = (...blocks: readonly object[]): unknown => {
      const { response } = played(...called(...blocks));
      const ports = requested({
        messages: [user('look'), { tag: 'assistant', val: response.content }],
        config: uncached,
      });
      return (ports.body()['messages'] as readonly { content: unknown }[])[1]?.content;
    };
    const call = { type: 'tool_use', id: 'toolu:1', name: 'look', input: {} };
    expect(backOf({ type: 'thinking', thinking: 'hm' }, call)).toEqual([
      { type: 'thinking', thinking: 'hm', signature: '' },
      call,
    ]);
    expect(backOf(call)).toEqual([call]);
    const cut = played(start, opened(0, { type: 'thinking', thinking: 'hm' }), ended('max_tokens'), end).response;
    expect(cut.content).toEqual([{ tag: 'thinking', val: { text: 'hm', signature: null } }]);
  });

  it('gives the arguments of a call back digit by digit', () => {
    const call = { id: 'toolu_1', name: 'look', input: '{"id": 1234567890123456789}' };
    const ports = requested({ messages: [user('a'), { tag: 'assistant', val: [{ tag: 'tool-call', val: call }] }] });
    expect(ports.bodyText()).toContain('"name":"look","input":{"id": 1234567890123456789}}');
  });

  it('fails with a thinking budget that leaves no room for a reply', () => {
    expect(() => requested({ config: '{"thinking_budget":1024}' })).toThrow(
      'inference.driver.config.thinking_budget must be below inference.max_tokens, which is 512',
    );
  });
});

describe('the cache marks of a request', () => {
  const tools = ['look', 'list'].map((name) => ({ name, description: '', inputSchema: '{}' }));
  const result = (id: string): Message => ({
    tag: 'tool',
    val: { toolCallId: id, isError: false, content: [text('seen')] },
  });
  const calling = (id: string): Message => ({
    tag: 'assistant',
    val: [
      { tag: 'thinking', val: { text: 'hm', signature: 'c2ln' } },
      { tag: 'tool-call', val: { id, name: 'look', input: '{}' } },
    ],
  });
  const messages = [user('look'), calling('a'), result('a'), calling('b'), result('b'), user('again')];
  const whole = { tools, system: 'Be brief.', messages };
  /** Where the marks of a request are. */
  const marked = (config: object): readonly string[] => {
    const body = requested({ ...whole, config: JSON.stringify(config) }).body();
    return pathsOf(body).filter((path) => path.includes('cache_control'));
  };

  it('mark the tools, the system prompt and the latest two turns of the user', () => {
    expect(marked({})).toEqual([
      'messages.2.content.0.cache_control.type',
      'messages.4.content.1.cache_control.type',
      'system.0.cache_control.type',
      'tools.1.cache_control.type',
    ]);
  });

  it('move on with a conversation that is kept', () => {
    const reply = { pieces: events(start, ended('end_turn'), end) };
    const ports = new ScriptedPorts(reply, reply);
    const { continuationId } = infer(driverRequest({ tools, messages: messages.slice(0, 3) }), ports);
    infer(driverRequest({ tools, messages: messages.slice(3), continuationId }), ports);
    expect(ports.body(2)).toEqual(requested({ tools, messages }).body());
  });

  it('disappear where the manifest turns them off', () => {
    expect(requested({ ...whole, config: uncached }).bodyText()).not.toContain('cache_control');
  });

  it('leave room for the marks that the manifest sets itself, because the provider refuses a fifth', () => {
    expect(marked({ extra_body: mark })).toEqual([
      'cache_control.type',
      'system.0.cache_control.type',
      'tools.1.cache_control.type',
    ]);
    const system = ['one', 'two', 'three'].map((part) => Object.assign({ type: 'text', text: part }, mark));
    expect(marked({ extra_body: { system } })).toEqual([
      'messages.4.content.1.cache_control.type',
      'system.0.cache_control.type',
      'system.1.cache_control.type',
      'system.2.cache_control.type',
    ]);
  });

  it('skip a system prompt of white space, which the server refuses as a block', () => {
    expect(requested({ system: ' ' }).body()['system']).toBe(' ');
  });
});

function pathsOf(value: unknown): readonly string[] {
  if (typeof value !== 'object' || value === null) return [''];
  return Object.entries(value)
    .flatMap(([key, inner]) => pathsOf(inner).map((path) => (path === '' ? key : `${key}.${path}`)))
    .toSorted();
}

describe('a streamed reply', () => {
  it('passes on its parts as they come and returns the whole, block by block', () => {
    const { ports, response } = played(
      start,
      opened(0, { type: 'thinking', thinking: '', signature: '' }),
      delta(0, { type: 'thinking_delta', thinking: 'Let me ' }),
      delta(0, { type: 'thinking_delta', thinking: 'see' }),
      delta(0, { type: 'signature_delta', signature: 'c2ln' }),
      stopped(0),
      { type: 'ping' },
      opened(1, { type: 'redacted_thinking', data: 'b3BhcXVl' }),
      stopped(1),
      opened(2, { type: 'text', text: '' }),
      delta(2, { type: 'text_delta', text: 'Hel' }),
      delta(2, { type: 'text_delta', text: 'lo' }),
      delta(2, { type: 'citations_delta', citation: {} }),
      stopped(2),
      opened(3, { type: 'server_tool_use', id: 's', name: 'web_search', input: {} }),
      stopped(3),
      { type: 'something_new' },
      ended('end_turn'),
      end,
    );
    expect(ports.emitted).toEqual(['~Let me ', '~see', 'Hel', 'lo']);
    expect(response).toEqual({
      content: [
        { tag: 'thinking', val: { text: 'Let me see', signature: signed('c2ln') } },
        { tag: 'thinking', val: { text: '', signature: signed('redacted_thinking:b3BhcXVl') } },
        { tag: 'text', val: 'Hello' },
      ],
      stopReason: { tag: 'end-turn' },
      usage: { inputTokens: 9, outputTokens: 4 },
      continuationId: expect.stringMatching(/^kept:\d+-\d+:1$/),
    });
    expect(ports.open).toBe(0);
  });

  it('holds tool calls with their arguments put together', () => {
    const { response } = played(
      start,
      opened(0, { type: 'tool_use', id: 'toolu_1', name: 'look', input: {} }),
      delta(0, { type: 'input_json_delta', partial_json: '' }),
      delta(0, { type: 'input_json_delta', partial_json: '{"a":' }),
      delta(0, { type: 'input_json_delta', partial_json: '1}' }),
      stopped(0),
      opened(1, { type: 'tool_use', id: 'toolu_2', name: 'list', input: {} }),
      stopped(1),
      ended('tool_use'),
      end,
    );
    expect(response).toMatchObject({
      content: [
        { tag: 'tool-call', val: { id: 'toolu_1', name: 'look', input: '{"a":1}' } },
        { tag: 'tool-call', val: { id: 'toolu_2', name: 'list', input: '{}' } },
      ],
      stopReason: { tag: 'tool-call' },
    });
  });

  it('counts tokens of the cache as input', () => {
    const cached = { input_tokens: 1, cache_creation_input_tokens: 20, cache_read_input_tokens: 300, output_tokens: 1 };
    const { ports, response } = played({ type: 'message_start', message: { usage: cached } }, ended('end_turn'), end);
    expect(response.usage).toEqual({ inputTokens: 321, outputTokens: 4 });
    expect(ports.notes).toEqual([{ cache: { read: 300, write: 20 } }]);
  });

  it.each([
    ['end_turn', { tag: 'end-turn' }],
    ['stop_sequence', { tag: 'end-turn' }],
    ['max_tokens', { tag: 'max-tokens' }],
    ['tool_use', { tag: 'tool-call' }],
    ['refusal', { tag: 'error', val: 'the model refused to answer' }],
    ['pause_turn', { tag: 'end-turn' }],
    ['abacus', { tag: 'other', val: 'abacus' }],
  ])('with the end %s stops for %j', (reason, stopReason) => {
    expect(played(start, ended(reason), end).response.stopReason).toEqual(stopReason);
  });
});

describe('a reply that goes wrong', () => {
  const error = (type: string, message: string): object => ({ type: 'error', error: { type, message } });

  it('fails when the stream ends without a stop reason', () => {
    expect(() =>
      played(start, opened(0, { type: 'text', text: '' }), delta(0, { type: 'text_delta', text: 'Hel' })),
    ).toThrow('the provider ended its reply without a finish reason');
  });

  it('gets another try when the provider is overloaded and nothing was emitted', () => {
    const overloaded = { pieces: events(start, error('overloaded_error', 'Overloaded')) };
    const ports = new ScriptedPorts(overloaded, { pieces: events(start, ended('end_turn'), end) });
    expect(infer(driverRequest(), ports).stopReason).toEqual({ tag: 'end-turn' });
    expect(ports.slept).toEqual([500]);
  });

  it('fails when the provider is overloaded in the middle', () => {
    expect(() =>
      played(start, opened(0, { type: 'text', text: 'Hel' }), error('overloaded_error', 'Overloaded')),
    ).toThrow('provider reported overloaded_error: Overloaded');
  });

  it('fails when the provider reports what would fail again', () => {
    expect(() => played(start, error('invalid_request_error', 'too long'))).toThrow(
      'reported invalid_request_error: too long',
    );
  });

  it('fails where it has more blocks than any that is meant', () => {
    const block = opened(0, { type: 'text' });
    expect(() => played(start, ...Array.from({ length: 1_025 }, () => block))).toThrow('of more than 1024 blocks');
  });

  it('fails when a delta belongs to no block', () => {
    expect(() => {
      const ports = new ScriptedPorts({ pieces: events(start, delta(4, { type: 'text_delta', text: 'x' })) });
      infer(driverRequest({ config: '{"max_retries":0}' }), ports);
    }).toThrow('the provider continued a content block that it had not started');
  });
});
