import { describe, expect, it } from 'vitest';

import { startFakeAnthropic } from './fake-anthropic.ts';
import { startFakeOpenAi } from './fake-openai.ts';
import type { FakeProvider } from './fake-provider.ts';
import { says } from './fake-reply.ts';

async function post(provider: FakeProvider, path: string, body: unknown): Promise<{ status: number; text: string }> {
  const response = await fetch(`${provider.endpoint}${path}`, { method: 'POST', body: JSON.stringify(body) });
  return { status: response.status, text: await response.text() };
}

const chat = { model: 'm', stream: true, messages: [{ role: 'user', content: 'hi' }] };
const call = { id: 'c1', type: 'function', function: { name: 'look', arguments: '{}' } };

describe('the fake Chat Completions server', () => {
  it('streams chunks, their end, and its token counts', async () => {
    await using provider = await startFakeOpenAi([says('Hel', 'lo')]);
    const { status, text } = await post(provider, '/v1/chat/completions', chat);
    expect(status).toBe(200);
    const lines = text.split('\n\n');
    expect(lines).toHaveLength(7);
    expect(lines[1]).toContain('"choices":[{"index":0,"delta":{"content":"Hel"},"finish_reason":null}]');
    expect(lines[3]).toContain('"finish_reason":"stop"');
    expect(lines[4]).toContain('"usage":{"prompt_tokens":10,"completion_tokens":5,"total_tokens":15}');
    expect(lines[5]).toBe('data: [DONE]');
  });

  it('refuses a conversation in which a tool call has no result', async () => {
    await using provider = await startFakeOpenAi([]);
    const messages = [...chat.messages, { role: 'assistant', content: null, tool_calls: [call] }];
    expect(await post(provider, '/v1/chat/completions', { ...chat, messages })).toMatchObject({
      status: 400,
      text: expect.stringContaining('tool calls without a result: c1'),
    });
  });

  it('says when it has no reply left, and knows no other path', async () => {
    await using provider = await startFakeOpenAi([]);
    expect((await post(provider, '/v1/chat/completions', chat)).text).toContain('no reply is left for request 1');
    expect((await post(provider, '/v1/completions', chat)).status).toBe(404);
  });
});

describe('the fake Messages server', () => {
  const messages = [{ role: 'user', content: [{ type: 'text', text: 'hi' }] }];

  it('names each event as it streams it', async () => {
    await using provider = await startFakeAnthropic([{ kind: 'stream', thinking: ['hm'], text: ['Hi'] }]);
    const { text } = await post(provider, '/v1/messages', { model: 'm', max_tokens: 9, stream: true, messages });
    expect([...text.matchAll(/^event: (.*)$/gm)].map(([, name]) => name)).toEqual([
      'message_start',
      'content_block_start',
      'ping',
      'content_block_delta',
      'content_block_delta',
      'content_block_stop',
      'content_block_start',
      'content_block_delta',
      'content_block_stop',
      'message_delta',
      'message_stop',
    ]);
  });

  it('refuses blank texts, unsigned thinking and unanswered tools', async () => {
    await using provider = await startFakeAnthropic([]);
    const refusal = async (content: readonly object[]): Promise<string> => {
      const body = { model: 'm', max_tokens: 9, stream: true, messages: [...messages, { role: 'assistant', content }] };
      return (await post(provider, '/v1/messages', body)).text;
    };
    expect(await refusal([{ type: 'text', text: ' ' }])).toContain(
      'text content blocks must contain non-whitespace text',
    );
    expect(await refusal([{ type: 'thinking', thinking: 'hm' }])).toContain('thinking.signature: Field required');
    expect(await refusal([{ type: 'tool_use', id: 't1', name: 'x', input: {} }])).toContain(
      'without tool_result blocks: t1',
    );
  });
});
