import { describe, expect, it } from 'vitest';

import type { Message } from '../model/driver.ts';
import type { ContextId } from '@svc/protocol/ids.ts';
import { threadedConversations } from './conversations.ts';

const mebibyte = 1024 * 1024;

function said(text: string): readonly Message[] {
  return [{ role: 'user', content: [{ type: 'text', text }] }];
}

function context(number: number): ContextId {
  return `ctx-${number}` as ContextId;
}

describe('conversations in memory', () => {
  it('stay in memory up to the 256 that were saved last', () => {
    const kept = threadedConversations();
    for (let each = 0; each < 256; each += 1) kept.save(context(each), said(`${each}`));
    kept.save(context(0), said('again'));
    kept.save(context(256), said('one more'));
    expect(kept.history(context(0))).toEqual(said('again'));
    expect(kept.history(context(1))).toEqual([]);
    expect(kept.history(context(2))).toEqual(said('2'));
    expect([kept.has(context(1)), kept.has(context(2))]).toEqual([false, true]);
  });

  it('cannot exceed 16 MiB, and a refused one leaves the saved one', () => {
    const kept = threadedConversations();
    kept.save(context(1), said('short'));
    expect(() => kept.save(context(1), said('x'.repeat(16 * mebibyte)))).toThrow(
      expect.objectContaining({
        code: 'E-RUN-032',
        message: expect.stringMatching(/^the conversation is too long to be kept: 167773\d\d bytes, at most 16777216$/),
      }),
    );
    expect(kept.history(context(1))).toEqual(said('short'));
  });

  it('share 256 MiB, and one that is replaced does not count twice', () => {
    const kept = threadedConversations();
    const large = said('x'.repeat(15 * mebibyte));
    for (let each = 1; each <= 17; each += 1) kept.save(context(each), large);
    kept.save(context(17), large);
    expect(kept.history(context(1))).toBe(large);
    kept.save(context(18), large);
    expect(kept.history(context(1))).toEqual([]);
    expect(kept.history(context(2))).toBe(large);
    expect(kept.history(context(18))).toBe(large);
  });
});
