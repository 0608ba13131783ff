import { describe, expect, it } from 'vitest';

import { argumentsText, ToolCallPairs } from './conversation.ts';
import type { Message } from '../driver.ts';

const call = (id: string, name = 'look'): Message => ({
  tag: 'assistant',
  val: [{ tag: 'tool-call', val: { id, name, input: '{}' } }],
});
const result = (toolCallId: string): Message => ({ tag: 'tool', val: { toolCallId, isError: false, content: [] } });

/** The same with `isOwn` for messages of the provider itself. */
const pairsOf = (messages: readonly Message[], isOwn = false): readonly Message[] =>
  new ToolCallPairs(() => isOwn).pair(messages);

const idsOf = (messages: readonly Message[]): readonly string[] =>
  messages.flatMap((message) =>
    message.tag === 'tool'
      ? [`=${message.val.toolCallId}`]
      : message.val.flatMap((block) => (block.tag === 'tool-call' ? [block.val.id] : [])),
  );

describe('tool calls and their results', () => {
  it('keep the ids a provider gave', () => {
    expect(idsOf(pairsOf([call('toolu_01'), result('toolu_01')]))).toEqual(['toolu_01', '=toolu_01']);
  });

  it('get ids where a provider gave none, results in the order of the calls', () => {
    const two: Message = {
      tag: 'assistant',
      val: [
        { tag: 'tool-call', val: { id: '', name: 'a', input: '{}' } },
        { tag: 'tool-call', val: { id: '', name: 'b', input: '{}' } },
      ],
    };
    expect(idsOf(pairsOf([two, result(''), result(''), call(''), result('')]))).toEqual([
      'call_1',
      'call_2',
      '=call_1',
      '=call_2',
      'call_3',
      '=call_3',
    ]);
  });

  it('get other ids where another provider would refuse them', () => {
    expect(idsOf(pairsOf([call('chatcmpl:1/x'), result('chatcmpl:1/x')]))).toEqual(['call_1', '=call_1']);
  });

  it('keep an id of any length and shape that the provider itself gave', () => {
    const id = `call 1__thought__${'QUJD'.repeat(16_000)}==`;
    expect(idsOf(pairsOf([call(id), result(id)], true))).toEqual([id, `=${id}`]);
    expect(idsOf(pairsOf([call(id), result(id)]))).toEqual(['call_1', '=call_1']);
  });

  it('never share an id, in a turn or between turns, not even one that was made up here', () => {
    const twice: Message = { tag: 'assistant', val: [call('x'), call('x')].flatMap(({ val }) => val as never[]) };
    const messages = [twice, result('x'), result('x'), call('call_3'), result('call_3'), call('x'), result('x')];
    expect(idsOf(pairsOf([...messages, call(''), result('')], true))).toEqual([
      'x',
      'call_2',
      '=x',
      '=call_2',
      'call_3',
      '=call_3',
      'call_4',
      '=call_4',
      'call_5',
      '=call_5',
    ]);
    expect(idsOf(pairsOf([call('call_2'), result('call_2'), call('')], true)).at(-1)).toBe('call_2_2');
  });
});

describe('recorded arguments', () => {
  it('are given back as the model wrote them', () => {
    expect(argumentsText('{"a": 1234567890123456789}')).toBe('{"a": 1234567890123456789}');
    expect(argumentsText('')).toBe('{}');
  });

  it('are wrapped when the model wrote no object', () => {
    expect(argumentsText('{"a":')).toBe('{"invalid_arguments":"{\\"a\\":"}');
    expect(argumentsText('[1e400]')).toBe('{"invalid_arguments":[1e400]}');
  });
});
