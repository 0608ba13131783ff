import { describe, expect, it } from 'vitest';

import type { Message } from '../driver.ts';
import { KnownConversations } from './known-conversations.ts';

const says = (role: 'user' | 'assistant', text: string): Message => ({ role, content: [{ type: 'text', text }] });
const first = [says('user', 'a'), says('assistant', 'b')];

describe('the conversations that a program remembers', () => {
  it('go on when the history has only grown, with what was said since', () => {
    const known = new KnownConversations();
    known.remember(first, 's1');
    const rest = [says('user', 'c'), says('user', 'd')];
    expect(known.find([...first, ...rest])).toEqual({ id: 's1', rest });
    known.remember([...first, ...rest, says('assistant', 'e')], 's1');
    expect(known.find([...first, ...rest])).toBe(null);
    expect(known.find([...first, ...rest, says('assistant', 'e'), says('user', 'f')])).toEqual({
      id: 's1',
      rest: [says('user', 'f')],
    });
  });

  it('exclude a history that was changed, or has nothing new', () => {
    const known = new KnownConversations();
    known.remember(first, 's1');
    expect(known.find(first)).toBe(null);
    expect(known.find([says('user', 'a, in short'), says('assistant', 'b'), says('user', 'c')])).toBe(null);
    expect(known.find([says('user', 'a')])).toBe(null);
    known.forget('s1');
    expect(known.find([...first, says('user', 'c')])).toBe(null);
  });

  it('differ from each other, and the oldest disappear', () => {
    const known = new KnownConversations();
    for (let index = 0; index < 65; index += 1) known.remember([says('user', `${index}`)], `s${index}`);
    expect(known.find([says('user', '0'), says('user', 'x')])).toBe(null);
    expect(known.find([says('user', '1'), says('user', 'x')])?.id).toBe('s1');
    expect(known.find([says('user', '64'), says('user', 'x')])?.id).toBe('s64');
  });
});
