import { describe, expect, it } from 'vitest';

import type { InferenceRequest, Message } from '../model/driver.ts';
import { ContextWindow } from './context-window.ts';

function message(characters: number): Message {
  return { role: 'user', content: [{ type: 'text', text: 'x'.repeat(characters) }] };
}

function request(...messages: Message[]): InferenceRequest {
  return { model: 'm', system: '', messages, tools: [], maxTokens: 100 };
}

describe('the window of a model', () => {
  it('never overflows when its size is not known', () => {
    expect(new ContextWindow({ maxTokens: null, threshold: 0.01 }).overflow(request(message(100_000)))).toBeNull();
  });

  it('overflows above the threshold, four characters of the request being a token', () => {
    const window = new ContextWindow({ maxTokens: 1000, threshold: 0.5 });
    const around = JSON.stringify(request(message(0))).length;
    expect(window.overflow(request(message(2000 - around)))).toBeNull();
    expect(window.overflow(request(message(2001 - around)))).toEqual({ estimatedTokens: 501, maxTokens: 1000 });
  });

  it('goes by what the provider counted, and estimates only what came since', () => {
    const window = new ContextWindow({ maxTokens: 1000, threshold: 0.5 });
    const measured = [message(4), message(4)];
    window.measured(measured, { inputTokens: 400, outputTokens: 50 });
    expect(window.overflow(request(...measured))).toBeNull();
    const added = message(400);
    const estimatedTokens = 450 + Math.ceil(JSON.stringify([added]).length / 4);
    expect(window.overflow(request(...measured, added))).toEqual({ estimatedTokens, maxTokens: 1000 });
  });

  it.each([
    ["This model's maximum context length is 8192 tokens. However, your messages resulted in 9001 tokens.", 8192],
    ['prompt is too long: 20,016 tokens > 20,000 maximum', 20_000],
    ['the request exceeds the available context size (4096 tokens), try increasing it', 4096],
    ['The input token count (31072) exceeds the maximum number of tokens allowed (16384).', 16_384],
    ["This model's maximum prompt length is 8192 but the request contains 9001 tokens.", 8192],
    ['prompt token count of 9001 exceeds the limit of 8192', 8192],
    ['The decoder prompt (length 9001) is longer than the maximum model length of 8192', 8192],
    ['Range of input length should be [1, 8192]', 12_515],
    ['Total tokens of image and text exceed max message tokens', 12_515],
    // A number above the estimate counts for nothing.
    ['input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000', 12_515],
    ['maximum context length is 1000000 tokens', 12_515],
    ['maximum context length is 000 tokens', 1],
    ['your input exceeds the context window of this model', 12_515],
    ['context_length_exceeded 2026-11-30', 12_515],
  ])('takes the size of a model from its refusal: %s', (words, maxTokens) => {
    const window = new ContextWindow({ maxTokens: null, threshold: 0.85 });
    expect(window.refused(request(message(100_000)), words)).toEqual({ estimatedTokens: 25_030, maxTokens });
  });

  it.each(['no such model', 'provider answered 429: too many requests', ''])('takes none from %j', (words) => {
    const window = new ContextWindow({ maxTokens: null, threshold: 0.85 });
    expect(window.refused(request(message(100_000)), words)).toBeNull();
  });

  it('counts a conversation anew that took the place of a longer one', () => {
    const window = new ContextWindow({ maxTokens: 1000, threshold: 0.5 });
    window.measured([message(4)], { inputTokens: 900, outputTokens: 50 });
    expect(window.overflow(request(message(4)))?.estimatedTokens).toBe(951);
    window.replaced();
    expect(window.overflow(request(message(4)))).toBeNull();
  });

  it('takes one refusal until the model answers', () => {
    const window = new ContextWindow({ maxTokens: null, threshold: 0.85 });
    const asked = request(message(100));
    const refused = (): boolean => window.refused(asked, 'prompt is too long') !== null;
    expect([refused(), refused()]).toEqual([true, false]);
    window.measured([message(100)], { inputTokens: 1, outputTokens: 1 });
    expect(refused()).toBe(true);
  });

  it('does not believe a provider that counts less than the text is long', () => {
    const window = new ContextWindow({ maxTokens: 1000, threshold: 0.5 });
    const long = message(8000);
    window.measured([long], { inputTokens: 1, outputTokens: 1 });
    expect(window.overflow(request(long))?.estimatedTokens).toBeGreaterThan(2000);
  });
});
