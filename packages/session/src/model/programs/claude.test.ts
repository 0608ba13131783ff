import { describe, expect, it } from 'vitest';

import { ClaudeDecoder } from './claude.ts';

const decode = (...lines: readonly unknown[]): unknown[] => {
  const decoder = new ClaudeDecoder();
  return lines.flatMap((line) => decoder.decode(line));
};
const result = { type: 'result', subtype: 'success', is_error: false, result: 'Done.', session_id: 's' };

describe('a line of claude', () => {
  it('gives its whole text where no pieces of it came', () => {
    const content = [
      { type: 'thinking', thinking: 'hm' },
      { type: 'text', text: 'One.' },
      { type: 'tool_use', id: 't', name: 'mcp__svc__a', input: {} },
      { type: 'text', text: 'Two.' },
    ];
    expect(decode({ type: 'assistant', message: { id: 'm', content } })).toEqual([
      { kind: 'thinking', text: 'hm' },
      { kind: 'text', text: 'One.' },
      { kind: 'text', text: '\n\nTwo.' },
    ]);
  });

  it('gives nothing when it comes from an agent below, or has an unknown type', () => {
    const message = { id: 'm', content: [{ type: 'text', text: 'x' }] };
    const event = { type: 'content_block_delta', delta: { type: 'text_delta', text: 'x' } };
    expect(
      decode(
        { type: 'assistant', parent_tool_use_id: 't', message },
        { type: 'stream_event', parent_tool_use_id: 't', event },
        { type: 'stream_event', event: { type: 'content_block_delta', delta: { type: 'signature_delta' } } },
        { type: 'rate_limit_event', rate_limit_info: 5 },
        { type: 'system', subtype: 'hook_started' },
        { type: 'user', message: null },
      ),
    ).toEqual([]);
  });

  it('counts what was read from a cache as read', () => {
    const usage = { input_tokens: 1, cache_creation_input_tokens: 20, cache_read_input_tokens: 300, output_tokens: 4 };
    expect(decode({ ...result, stop_reason: 'max_tokens', usage })).toMatchObject([
      { response: { stopReason: 'max_tokens', usage: { inputTokens: 321, outputTokens: 4 } } },
    ]);
    expect(decode(result)).toEqual([
      {
        kind: 'response',
        response: { content: [{ type: 'text', text: 'Done.' }], stopReason: 'end_turn', continuationId: 's' },
      },
    ]);
  });

  it('adds counts up to the highest number that a record can hold', () => {
    const most = Number.MAX_SAFE_INTEGER;
    const usage = {
      input_tokens: most,
      cache_creation_input_tokens: most,
      cache_read_input_tokens: most,
      output_tokens: most,
    };
    expect(decode({ ...result, usage })).toMatchObject([
      { response: { usage: { inputTokens: 9_007_199_254_740_991, outputTokens: 9_007_199_254_740_991 } } },
    ]);
  });

  it.each([
    [{ ...result, is_error: true, result: 'No.' }, 'claude failed: No.'],
    [{ ...result, is_error: true, result: '', errors: ['a', 'b'] }, 'claude failed: a; b'],
    [{ ...result, subtype: 'error_during_execution', result: null }, 'claude failed: error_during_execution'],
  ])('fails with the words of the program: %j', (line, error) => {
    expect(decode(line)).toMatchObject([{ kind: 'response', response: { stopReason: 'error', error } }]);
  });

  it.each([
    [['Bash', 'mcp__svc__a', 'WebFetch'], 'claude keeps tools of its own: Bash, WebFetch'],
    [['Task'], 'claude keeps tools of its own: Task'],
  ])('stops a program that kept %j', (tools, error) => {
    expect(decode({ type: 'system', subtype: 'init', tools })).toEqual([{ kind: 'failed', error }]);
  });

  it('lets a program go on that has the tools of the capsule, or is still connecting', () => {
    const tools = ['mcp__svc__a', 'ListMcpResourcesTool'];
    for (const status of ['connected', 'pending']) {
      const line = { type: 'system', subtype: 'init', tools, mcp_servers: [{ name: 'svc', status }] };
      expect(decode(line)).toEqual([]);
    }
    const others = [{ name: 'x', status: 'failed' }];
    expect(decode({ type: 'system', subtype: 'init', mcp_servers: others })).toEqual([]);
  });

  it('ends a run that the provider refuses again and again', () => {
    const retry = (attempt: number, error: string) => ({ type: 'system', subtype: 'api_retry', attempt, error });
    expect(decode(retry(1, 'authentication_failed'), retry(5, 'overloaded'))).toEqual([]);
    expect(decode(retry(2, 'authentication_failed'))).toEqual([
      { kind: 'failed', error: 'claude is refused by its provider: authentication_failed' },
    ]);
  });

  it.each([
    [5, 'the line must be a block of keys'],
    [{ kind: 'x' }, 'type must be text'],
    [{ ...result, session_id: 7 }, 'session_id must be text'],
    [{ ...result, is_error: 'no' }, 'is_error must be true or false'],
    [{ ...result, usage: { input_tokens: -1, output_tokens: 0 } }, 'usage.input_tokens'],
    [{ type: 'assistant', message: 'x' }, 'message must be'],
    [{ type: 'stream_event' }, 'event must be a block of keys'],
    [{ type: 'system', subtype: 'init', tools: 'all' }, 'tools must be a list'],
  ])('fails the run when a known one has another shape: %j', (line, problem) => {
    expect(decode(line)).toEqual([{ kind: 'failed', error: expect.stringContaining(`another shape: ${problem}`) }]);
  });
});
