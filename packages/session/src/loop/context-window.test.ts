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

  it('does not believe a provider that counts less than the text is long', () => {
    const window = new ContextWindow({ maxTokens: 1000, threshold: 0.5 });
    const long = message(8000);
    window.measured([long], { inputTokens: 1, outputTokens: 1 });
    expect(window.overflow(request(long))?.estimatedTokens).toBeGreaterThan(2000);
  });
});
