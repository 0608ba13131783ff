import { describe, expect, it } from 'vitest';

import type { ContentBlock, Message } from '../model/driver.ts';
import { contextProblem, withCompanions } from './compacted-context.ts';

const user: Message = { role: 'user', content: [{ type: 'text', text: 'Go on.' }] };
const reply: Message = { role: 'assistant', content: [{ type: 'text', text: 'Yes.' }] };

function calling(...ids: readonly string[]): Message {
  return { role: 'assistant', content: ids.map((id) => ({ type: 'tool_call', id, name: 'count', input: {} })) };
}

function result(toolCallId: string): Message {
  return { role: 'tool', toolCallId, isError: false, content: [{ type: 'text', text: '3' }] };
}

describe('a conversation that stands in for a longer one', () => {
  it.each<[string, Message[]]>([
    ['is one question', [user]],
    ['is a question after a reply', [user, reply, user]],
    ['ends with a result', [user, calling('a'), result('a')]],
    ['has the results of one turn in another order', [user, calling('a', 'b'), result('b'), result('a')]],
    ['has calls that share an id', [user, calling('', ''), result(''), result('')]],
  ])('replaces it when it %s', (_, messages) => {
    expect(contextProblem(messages)).toBeNull();
  });

  it.each<[string, Message[], string]>([
    ['is empty', [], 'the conversation is empty'],
    ['begins with a reply', [reply, user], 'the conversation begins with a message of the assistant'],
    ['begins with a result', [result('a'), user], 'the conversation begins with a message of the tool'],
    ['ends with a reply', [user, reply], 'the conversation ends with a message of the assistant'],
    ['ends with a call', [user, calling('a')], 'the conversation ends with a message of the assistant'],
    ['has a result without its call', [user, result('a')], 'a result answers "a", which nothing called'],
    ['has a call without its result', [user, calling('a'), user], 'the call "a" has lost its result'],
    ['lacks one of two results', [user, calling('a', 'b'), result('a')], 'the call "b" has lost its result'],
    [
      'has one result twice',
      [user, calling('a'), result('a'), result('a')],
      'a result answers "a", which nothing called',
    ],
    [
      'has a result that came too late',
      [user, calling('a'), result('a'), user, result('a')],
      'a result answers "a", which nothing called',
    ],
  ])('fails when it %s', (_, messages, problem) => {
    expect(contextProblem(messages)).toBe(problem);
  });
});

describe('the calls of a conversation that a hook has shortened', () => {
  const thought: ContentBlock = { type: 'thinking', text: 'hm', signature: 'c2ln' };
  const call = calling('a').content[0] as ContentBlock;
  const other = calling('b').content[0] as ContentBlock;
  const before: readonly Message[] = [
    user,
    { role: 'assistant', content: [thought, call, other] },
    result('a'),
    result('b'),
  ];

  it('keep what the provider gave with them, where the hook has left it out', () => {
    const bare: readonly Message[] = [user, { role: 'assistant', content: [call, other] }, result('a'), result('b')];
    expect(withCompanions(bare, before)).toEqual(before);
    const one: readonly Message[] = [user, { role: 'assistant', content: [other] }, result('b')];
    expect(withCompanions(one, before)[1]).toEqual({ role: 'assistant', content: [thought, other] });
  });

  it('get nothing that was given with others', () => {
    expect(withCompanions(before, before)).toEqual(before);
    const others = [user, calling('c'), result('c'), reply];
    expect(withCompanions(others, before)).toEqual(others);
  });
});
