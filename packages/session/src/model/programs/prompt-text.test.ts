import { describe, expect, it } from 'vitest';

import type { Message } from '../driver.ts';
import { continuationPrompt, openingPrompt } from './known-conversations.ts';

const user = (text: string): Message => ({ role: 'user', content: [{ type: 'text', text }] });

describe('the text for a program', () => {
  it('has the one message of a new conversation, as it is', () => {
    expect(openingPrompt([user('/help me\n')])).toBe('/help me\n');
    expect(openingPrompt([])).toBe('');
  });

  it('has the whole history where the program does not remember it', () => {
    const text = openingPrompt([
      user('How many?'),
      {
        role: 'assistant',
        content: [
          { type: 'thinking', text: 'hm' },
          { type: 'text', text: 'Let me see.' },
          {
            type: 'tool_call',
            id: 'c1',
            name: 'count',
            input: { path: '.', id: 2 ** 60 },
            digits: { '/id': '1152921504606846977' },
          },
        ],
      },
      { role: 'tool', toolCallId: 'c1', isError: true, content: [{ type: 'text', text: 'no such place' }] },
      { role: 'assistant', content: [{ type: 'text', text: 'None.' }] },
      user('Sure?'),
    ]);
    expect(text).toBe(`This conversation began earlier. What was said so far, in order:

[user]
How many?

[assistant]
Let me see.
(calls count as c1: {"path":".","id":1152921504606846977})

[failure of c1]
no such place

[assistant]
None.

[end of what was said so far]

It goes on with:

Sure?`);
  });

  it('has the new messages where the program remembers the rest', () => {
    expect(continuationPrompt([user('One.'), user(''), user('Two.')])).toBe('One.\n\nTwo.');
  });
});
