import { assert, jsonValue, property } from 'fast-check';
import { describe, expect, it } from 'vitest';

import { parseMessage } from './message.ts';

const message = { messageId: 'm1', role: 'user', parts: [{ text: 'one' }, { text: 'two' }] };

describe('a message', () => {
  it('has messageId, role and parts with text, under params.message [D1-SEND-03]', () => {
    expect(parseMessage({ message })).toEqual({
      kind: 'message',
      message: { messageId: 'm1', role: 'user', text: 'one\ntwo' },
    });
  });

  it('may be params itself', () => {
    expect(parseMessage({ ...message, contextId: 'ctx_1' })).toEqual({
      kind: 'message',
      message: { messageId: 'm1', role: 'user', text: 'one\ntwo', contextId: 'ctx_1' },
    });
  });

  it('holds no half of a character, which no file and no provider takes', () => {
    expect(parseMessage({ ...message, parts: [{ text: 'a\ud800b' }, { text: '😀' }] })).toMatchObject({
      message: { text: 'a\ufffdb\n😀' },
    });
  });

  it('may hold keys that are not known, at any depth', () => {
    const parts = [{ kind: 'text', text: 'one', metadata: { a: 1 } }];
    expect(parseMessage({ message: { ...message, kind: 'message', parts }, configuration: {} })).toMatchObject({
      kind: 'message',
      message: { text: 'one' },
    });
  });

  it.each([
    [undefined, 'params must be an object'],
    [null, 'params must be an object'],
    [[message], 'params must be an object'],
    [{ message: null }, 'message must be an object'],
    [{ message: 'text' }, 'message must be an object'],
    [{}, 'messageId must be a string'],
    [{ message: { ...message, messageId: 1 } }, 'message.messageId must be a string'],
    [{ ...message, role: null }, 'role must be a string'],
    [{ ...message, parts: undefined }, 'parts must be an array'],
    [{ ...message, parts: { text: 'a' } }, 'parts must be an array'],
    [{ ...message, parts: [] }, 'parts must hold at least one part'],
    [{ ...message, parts: [{ text: 'a' }, 'b'] }, 'parts[1] must be an object'],
    [{ message: { ...message, parts: [{ data: {} }] } }, 'message.parts[0].text must be a string'],
    [{ ...message, contextId: null }, 'contextId must be a string'],
    [{ ...message, contextId: '' }, 'contextId must not be empty'],
    [{ ...message, contextId: 'a'.repeat(1025) }, 'contextId must have at most 1024 bytes'],
    [{ ...message, contextId: 'ä'.repeat(513) }, 'contextId must have at most 1024 bytes'],
  ])('gets a reason when it is wrong: %j', (params, problem) => {
    expect(parseMessage(params)).toEqual({ kind: 'invalid', problem });
  });

  it('gets its problem in one line that repeats nothing of it', () => {
    const told = new Set<string>();
    const tell = property(jsonValue(), (value) => {
      const parsed = parseMessage({ ...message, parts: [{ text: 'a' }, value] });
      if (parsed.kind === 'invalid') told.add(parsed.problem);
    });
    assert(tell, { numRuns: 1000 });
    expect([...told].sort()).toEqual(['parts[1] must be an object', 'parts[1].text must be a string']);
  });

  it('costs one problem when it has millions', () => {
    const parts = Array.from({ length: 2_000_000 }, () => 1);
    expect(parseMessage({ ...message, parts })).toEqual({ kind: 'invalid', problem: 'parts[0] must be an object' });
  });
});
