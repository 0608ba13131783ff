import { describe, expect, it } from 'vitest';

import type { InferenceRequest, Message } from './driver.ts';
import { KeptMessages } from './component-driver.ts';

const said = (text: string): Message => ({ role: 'user', content: [{ type: 'text', text }] });
const [a, b, c] = [said('a'), said('b'), said('c')];

function requestOf(messages: readonly Message[], continuationId?: string): InferenceRequest {
  const request = { model: 'm', system: '', messages, tools: [], maxTokens: 10 };
  return continuationId === undefined ? request : { ...request, continuationId };
}

/** What is sent second, after a request of `a` and `b`. */
function onwardOf(second: InferenceRequest): InferenceRequest | null {
  const kept = new KeptMessages();
  kept.next(requestOf([a, b]));
  return kept.next(second).onward;
}

describe('messages that a driver keeps', () => {
  it('stay out of the next request', () => {
    expect(onwardOf(requestOf([a, b, c], 'kept:x:2'))).toEqual(requestOf([c], 'kept:x:2'));
  });

  it.each<[string, InferenceRequest]>([
    ['a driver gives no id', requestOf([a, b, c])],
    ['the id is one of the provider', requestOf([a, b, c], 'resp_123')],
    ['the driver claims more than it was sent', requestOf([a, b, c], 'kept:x:3')],
    ['the driver claims less than it was sent', requestOf([a, b, c], 'kept:x:1')],
    ['the count is none', requestOf([a, b, c], 'kept:x:0')],
    ['a hook has replaced the conversation', requestOf([said('a'), b, c], 'kept:x:2')],
    ['the conversation has become shorter', requestOf([a], 'kept:x:2')],
  ])('go out again when %s', (_, second) => {
    expect(onwardOf(second)).toBeNull();
  });

  it('all go into the whole request, which asks for no continuation', () => {
    const kept = new KeptMessages();
    kept.next(requestOf([a, b]));
    expect(kept.next(requestOf([a, b, c], 'kept:x:2')).whole).toEqual(requestOf([a, b, c]));
    expect(kept.next(requestOf([a, b, c], 'resp_123')).whole).toEqual(requestOf([a, b, c], 'resp_123'));
  });
});
