import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { bothWays, text, wired } from '../test/both-ways.ts';
import { encodeMessage, parseMessage } from './message.ts';

describe('what a message is written as', () => {
  it('reads as the message, half characters replaced', () => {
    const message = fc.record(
      {
        messageId: text,
        role: text,
        text: text.map((each) => each.toWellFormed()),
        contextId: fc.string({ minLength: 1 }),
      },
      { requiredKeys: ['messageId', 'role', 'text'] },
    );
    bothWays(message, (each) => {
      const parsed = parseMessage(wired(encodeMessage(each)));
      return parsed.kind === 'message' ? parsed.message : parsed;
    });
    expect(JSON.stringify(encodeMessage({ messageId: '1', role: 'user', text: 'a', contextId: 'c' }))).toBe(
      '{"message":{"messageId":"1","role":"user","parts":[{"text":"a"}],"contextId":"c"}}',
    );
  });
});
