import { describe, expect, it } from 'vitest';

import {
  askChatCompletions as infer,
  driverRequest,
  events,
  ScriptedPorts,
} from '../../../../../test/artifacts/scripted-ports.ts';
import type { ContentBlock, Message } from '../../driver.ts';
import { RequestFailure } from '../../request-failure.ts';

const delta = (value: object, finish: string | null = null): object => ({
  choices: [{ index: 0, delta: value, finish_reason: finish }],
});
const stop = delta({}, 'stop');
const user = (text: string): Message => ({ tag: 'user', val: [{ tag: 'text', val: text }] });
const toolCall = (id: string, input: string, name = 'look'): ContentBlock => ({
  tag: 'tool-call',
  val: { id, name, input },
});

function played(...chunks: readonly unknown[]): {
  readonly ports: ScriptedPorts;
  readonly response: ReturnType<typeof infer>;
} {
  const ports = new ScriptedPorts({ pieces: events(...chunks) });
  return { ports, response: infer(driverRequest(), ports) };
}

describe('the request to a Chat Completions server', () => {
  it('streams and holds the placeholder of the key', () => {
    const ports = new ScriptedPorts({ pieces: events(stop, '[DONE]') });
    infer(driverRequest({ apiKey: 'PLACEHOLDER', endpoint: 'http://127.0.0.1:11434/v1', system: 'Be brief.' }), ports);
    expect(ports.requests[0]?.url).toBe('http://127.0.0.1:11434/v1/chat/completions');
    expect(ports.header('authorization')).toBe('Bearer PLACEHOLDER');
    expect(ports.header('content-type')).toBe('application/json');
    expect(ports.body()).toEqual({
      model: 'm-1',
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: 'hello' },
      ],
      stream: true,
      stream_options: { include_usage: true },
      max_tokens: 512,
    });
  });

  it('has no authorization header without a key', () => {
    const { ports } = played(stop);
    expect(ports.header('authorization')).toBeUndefined();
  });

  it('carries calls, results and tools in the words of the protocol', () => {
    const ports = new ScriptedPorts({ pieces: events(stop) });
    const messages: readonly Message[] = [
      user('look twice'),
      {
        tag: 'assistant',
        val: [
          { tag: 'thinking', val: { text: 'hm', signature: null } },
          toolCall('', '{"a":1}', 'g++'),
          toolCall('c2', '{"b'),
        ],
      },
      {
        tag: 'tool',
        val: {
          toolCallId: '',
          isError: false,
          content: [
            { tag: 'text', val: 'one' },
            { tag: 'text', val: 'two' },
          ],
        },
      },
      { tag: 'tool', val: { toolCallId: 'c2', isError: true, content: [{ tag: 'text', val: 'bad arguments' }] } },
    ];
    const tools = [
      { name: 'g++', description: 'Compiles.', inputSchema: '{"type":"object","properties":{"command":{}}}' },
    ];
    infer(driverRequest({ messages, tools }), ports);
    expect(ports.body()).toMatchObject({
      messages: [
        { role: 'user', content: 'look twice' },
        {
          role: 'assistant',
          content: null,
          tool_calls: [
            { id: 'call_1', type: 'function', function: { name: 'g__', arguments: '{"a":1}' } },
            { id: 'c2', type: 'function', function: { name: 'look', arguments: '{"invalid_arguments":"{\\"b"}' } },
          ],
        },
        { role: 'tool', tool_call_id: 'call_1', content: 'one\ntwo' },
        { role: 'tool', tool_call_id: 'c2', content: 'bad arguments' },
      ],
      tools: [
        {
          type: 'function',
          function: {
            name: 'g__',
            description: 'Compiles.',
            parameters: { type: 'object', properties: { command: {} } },
          },
        },
      ],
    });
  });

  it('follows the configuration', () => {
    const ports = new ScriptedPorts({ pieces: events(stop) });
    const config = {
      temperature: 0.2,
      top_p: 0.9,
      stop: ['END'],
      max_tokens_field: 'max_completion_tokens',
      headers: { 'X-Team': 'blue' },
      extra_body: { seed: 7, stream_options: null },
    };
    infer(driverRequest({ config: JSON.stringify(config) }), ports);
    expect(ports.body()).toEqual({
      model: 'm-1',
      messages: [{ role: 'user', content: 'hello' }],
      stream: true,
      max_completion_tokens: 512,
      temperature: 0.2,
      top_p: 0.9,
      stop: ['END'],
      seed: 7,
    });
    expect(ports.header('x-team')).toBe('blue');
  });

  it('limits tokens by the newer name at OpenAI itself', () => {
    const ports = new ScriptedPorts({ pieces: events(stop) });
    infer(driverRequest({ endpoint: 'https://api.openai.com' }), ports);
    expect(ports.body()).toMatchObject({ max_completion_tokens: 512 });
  });
});

describe('a streamed reply', () => {
  it('passes on its parts as they come and returns the whole, with its token counts', () => {
    const { ports, response } = played(
      delta({ role: 'assistant', content: '' }),
      delta({ content: 'Hel' }),
      delta({ content: 'lo' }),
      stop,
      { choices: [], usage: { prompt_tokens: 9, completion_tokens: 2 } },
      '[DONE]',
    );
    expect(ports.emitted).toEqual(['Hel', 'lo']);
    expect(response).toEqual({
      content: [{ tag: 'text', val: 'Hello' }],
      stopReason: { tag: 'end-turn' },
      usage: { inputTokens: 9, outputTokens: 2 },
      continuationId: expect.stringMatching(/^kept:\d+-\d+:1$/),
    });
    expect(ports.open).toBe(0);
  });

  it.each(['reasoning_content', 'reasoning'])('keeps %s apart from text', (key) => {
    const { ports, response } = played(
      delta({ [key]: 'Let me ' }),
      delta({ [key]: 'see' }),
      delta({ content: 'Yes' }),
      stop,
    );
    expect(ports.emitted).toEqual(['~Let me ', '~see', 'Yes']);
    expect(response.content).toEqual([
      { tag: 'thinking', val: { text: 'Let me see', signature: expect.stringContaining(`"as":"${key}"`) as string } },
      { tag: 'text', val: 'Yes' },
    ]);
  });

  it('shows reasoning once when a server sends it under both names', () => {
    expect(played(delta({ reasoning: 'hm', reasoning_content: 'hm' }), stop).ports.emitted).toEqual(['~hm']);
  });

  it('has no token counts when the server sends none', () => {
    expect(played(delta({ content: 'x' }), stop).response.usage).toBeNull();
  });

  it.each([
    [{ prompt_tokens_details: { cached_tokens: 64 } }, [{ cache: { read: 64 } }]],
    [{ prompt_cache_hit_tokens: 7 }, [{ cache: { read: 7 } }]],
    [{ prompt_tokens_details: { cached_tokens: 'many' } }, []],
    [{}, []],
  ])('notes what a cache had of it where the server says so: %j', (told, notes) => {
    const usage = { prompt_tokens: 100, completion_tokens: 2, ...told };
    const { ports, response } = played(delta({ content: 'x' }), stop, { choices: [], usage });
    expect(ports.notes).toEqual(notes);
    expect(response.usage).toEqual({ inputTokens: 100, outputTokens: 2 });
  });

  it('keeps its reply when only the token counts are lost', () => {
    const ports = new ScriptedPorts({
      pieces: [...events(delta({ content: 'x' }), stop), new RequestFailure('broke', { transient: true })],
    });
    expect(infer(driverRequest(), ports).stopReason).toEqual({ tag: 'end-turn' });
  });

  it.each([
    ['stop', { tag: 'end-turn' }],
    ['length', { tag: 'max-tokens' }],
    ['tool_calls', { tag: 'tool-call' }],
    ['function_call', { tag: 'tool-call' }],
    ['content_filter', { tag: 'error', val: "the provider's content filter stopped the reply" }],
    ['abacus', { tag: 'other', val: 'abacus' }],
  ])('with the end %s stops for %j', (finish, stopReason) => {
    expect(played(delta({}, finish)).response.stopReason).toEqual(stopReason);
  });
});

describe('tool calls', () => {
  it('grow together by index', () => {
    const { response } = played(
      delta({ tool_calls: [{ index: 0, id: 'c1', function: { name: 'look', arguments: '' } }] }),
      delta({ tool_calls: [{ index: 1, id: 'c2', function: { name: 'list', arguments: '{"a"' } }] }),
      delta({ tool_calls: [{ index: 0, function: { arguments: '{"b":' } }] }),
      delta({
        tool_calls: [
          { index: 1, function: { arguments: ':1}' } },
          { index: 0, function: { arguments: '2}' } },
        ],
      }),
      delta({}, 'tool_calls'),
    );
    expect(response.content).toEqual([toolCall('c1', '{"b":2}'), toolCall('c2', '{"a":1}', 'list')]);
  });

  it('without arguments have an empty object', () => {
    const { response } = played(
      delta({ tool_calls: [{ index: 0, id: 'c1', function: { name: 'look' } }] }),
      delta({}, 'tool_calls'),
    );
    expect(response.content).toEqual([toolCall('c1', '{}')]);
  });

  it('keep arguments that are not JSON as the model wrote them', () => {
    const { response } = played(
      delta({ tool_calls: [{ index: 0, id: 'c1', function: { name: 'look', arguments: '{"a": oops' } }] }),
      delta({}, 'tool_calls'),
    );
    expect(response.content).toEqual([toolCall('c1', '{"a": oops')]);
  });

  it('work without ids, with object arguments, and with stop as the reason', () => {
    const { response } = played(
      delta({ tool_calls: [{ index: 0, function: { name: 'look', arguments: { a: 1 } } }] }),
      stop,
    );
    expect(response).toMatchObject({ content: [toolCall('', '{"a":1}')], stopReason: { tag: 'tool-call' } });
  });

  it('stay apart when a server gives every call index 0', () => {
    const { response } = played(
      delta({ tool_calls: [{ index: 0, id: 'c1', function: { name: 'look', arguments: '{"a":1}' } }] }),
      delta({ tool_calls: [{ index: 0, id: 'c2', function: { name: 'look', arguments: '{"a":2}' } }] }),
      stop,
    );
    expect(response.content).toEqual([toolCall('c1', '{"a":1}'), toolCall('c2', '{"a":2}')]);
  });

  it('stay apart when a server gives neither index nor id', () => {
    const { response } = played(
      delta({
        tool_calls: [{ function: { name: 'look', arguments: '{}' } }, { function: { name: 'list', arguments: '{}' } }],
      }),
      stop,
    );
    expect(response.content).toEqual([toolCall('', '{}'), toolCall('', '{}', 'list')]);
  });

  it('stay one when a server repeats the name and changes the id in every piece', () => {
    const { response } = played(
      delta({ tool_calls: [{ index: 0, id: 'r1', function: { name: 'look', arguments: '{"a"' } }] }),
      delta({ tool_calls: [{ index: 0, id: 'r2', function: { name: 'look', arguments: ':1}' } }] }),
      delta({ tool_calls: [{ index: 0, id: 'r3', function: { arguments: '' } }] }),
      delta({}, 'tool_calls'),
    );
    expect(response.content).toEqual([toolCall('r1', '{"a":1}')]);
  });

  it('in the legacy form are one call', () => {
    const { response } = played(
      delta({ function_call: { name: 'look', arguments: '{"a"' } }),
      delta({ function_call: { arguments: ':1}' } }),
      delta({}, 'function_call'),
    );
    expect(response.content).toEqual([toolCall('', '{"a":1}')]);
  });

  it('cost no more than their length, whatever comes with each piece', () => {
    const piece = (at: number): object =>
      delta({
        tool_calls: [
          { index: 0, id: `c${at}`, function: { name: 'look', arguments: at === 0 ? '{"a":"' : 'x'.repeat(200) } },
        ],
      });
    const pieces = Array.from({ length: 20_000 }, (_, at) => piece(at));
    const end = delta({ tool_calls: [{ index: 0, function: { arguments: '"}' } }] }, 'tool_calls');
    const [block] = played(...pieces, end).response.content;
    expect(block?.tag === 'tool-call' ? block.val.input.length : 0).toBe(8 + 19_999 * 200);
  });

  it('are refused where a reply has more of them than any that is meant', () => {
    const many = Array.from({ length: 1_025 }, (_, index) => ({
      index,
      id: `c${index}`,
      function: { name: 'look', arguments: '{}' },
    }));
    expect(() => played(delta({ tool_calls: many }), stop)).toThrow(
      'the provider sent a reply of more than 1024 tool calls',
    );
  });

  it('disappear when the token limit cut them off', () => {
    const { response } = played(
      delta({ content: 'I will look' }),
      delta({ tool_calls: [{ index: 0, id: 'c1', function: { name: 'look', arguments: '{"a' } }] }),
      delta({}, 'length'),
    );
    expect(response).toMatchObject({
      content: [{ tag: 'text', val: 'I will look' }],
      stopReason: { tag: 'max-tokens' },
    });
  });

  it('come back under the name the capsule knows', () => {
    const ports = new ScriptedPorts({
      pieces: events(delta({ tool_calls: [{ index: 0, id: 'c', function: { name: 'g__', arguments: '{}' } }] }), stop),
    });
    const response = infer(driverRequest({ tools: [{ name: 'g++', description: '', inputSchema: '{}' }] }), ports);
    expect(response.content).toEqual([toolCall('c', '{}', 'g++')]);
  });
});

describe('a reply that goes wrong', () => {
  const once = JSON.stringify({ max_retries: 0 });
  const failure =
    (...pieces: readonly (string | RequestFailure)[]): (() => unknown) =>
    () =>
      infer(driverRequest({ config: once }), new ScriptedPorts({ pieces }));

  it('fails when the stream ends without a finish reason', () => {
    expect(failure(...events(delta({ content: 'Hel' })))).toThrow(
      'the provider ended its reply without a finish reason',
    );
    expect(failure(...events(delta({ reasoning: 'hm' }), '[DONE]'))).toThrow('without a finish reason');
    expect(failure()).toThrow('without a finish reason');
  });

  it('fails when the server reports an error in the stream', () => {
    expect(failure(...events({ error: { message: 'out of memory', code: 500 } }))).toThrow(
      'provider reported an error: out of memory',
    );
  });

  it('fails when a chunk is no JSON object', () => {
    expect(failure(...events('oops'))).toThrow('the provider sent a chunk that is not a JSON object: oops');
    const deep = `${'{"a":'.repeat(501)}1${'}'.repeat(501)}`;
    expect(failure(`data: ${deep}\n\n`)).toThrow('the provider sent a chunk that is not a JSON object: {"a":{"a":');
  });
});
