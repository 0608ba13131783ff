import { describe, expect, it } from 'vitest';

import {
  askChatCompletions as infer,
  driverRequest,
  events,
  ScriptedPorts,
} from '../../../../../test/artifacts/scripted-ports.ts';
import type { ContentBlock, DriverRequest, Message } from '../../driver.ts';

const user: Message = { tag: 'user', val: [{ tag: 'text', val: 'look' }] };
const call = (id: string, beside: object = {}, inside: object = {}, index = 0): object => ({
  tool_calls: [{ index, id, type: 'function', function: { name: 'look', arguments: '{}', ...inside }, ...beside }],
});

function replied(...deltas: readonly object[]): readonly ContentBlock[] {
  const chunks = deltas.map((delta) => ({ choices: [{ index: 0, delta, finish_reason: null }] }));
  const end = { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] };
  return infer(driverRequest(), new ScriptedPorts({ pieces: events(...chunks, end) })).content;
}

/** What a server is sent of replies and the results of their calls. */
function sent(
  replies: readonly (readonly ContentBlock[])[],
  changes: Partial<DriverRequest> = {},
): readonly Readonly<Record<string, unknown>>[] {
  const messages = replies.flatMap((val): readonly Message[] => [
    { tag: 'assistant', val },
    ...val.flatMap((block): readonly Message[] =>
      block.tag === 'tool-call'
        ? [{ tag: 'tool', val: { toolCallId: block.val.id, isError: false, content: [] } }]
        : [],
    ),
  ]);
  const ports = new ScriptedPorts({ pieces: events({ choices: [{ delta: {}, finish_reason: 'stop' }] }) });
  infer(driverRequest({ messages: [user, ...messages], ...changes }), ports);
  return ports.body()['messages'] as readonly Readonly<Record<string, unknown>>[];
}

/** A message that calls `look` once, without its companions. */
const calling = (id: string): object => ({
  role: 'assistant',
  content: null,
  tool_calls: [{ id, type: 'function', function: { name: 'look', arguments: '{}' } }],
});

describe('what a server gives with a call goes back with it', () => {
  it('as thoughts under the name that they came with', () => {
    const kimi = replied({ reasoning_content: 'hm, ', reasoning: 'hm, ' }, { reasoning_content: 'yes' }, call('c1'));
    expect(sent([kimi])[1]).toEqual({ ...calling('c1'), reasoning_content: 'hm, yes' });
    expect(sent([replied({ reasoning: 'hm' }, call('c1'))])[1]).toEqual({ ...calling('c1'), reasoning: 'hm' });
  });

  it('as thoughts of no words, which some servers want too', () => {
    expect(sent([replied({ reasoning_content: '' }, call('c1'))])[1]).toEqual({
      ...calling('c1'),
      reasoning_content: '',
    });
    expect(sent([replied({ reasoning_content: null }, call('c1'))])[1]).toEqual(calling('c1'));
  });

  it('until the user speaks, also with what was said after the call', () => {
    const done = replied({ reasoning_content: 'seen' }, { content: 'Done.' });
    const [, , , last] = sent([replied({ reasoning_content: 'hm' }, call('c1')), done]);
    expect(last).toEqual({ role: 'assistant', content: 'Done.', reasoning_content: 'seen' });
    expect(sent([done])[1]).toEqual({ role: 'assistant', content: 'Done.' });
  });

  it('as reasoning details, put together from their pieces and in their order', () => {
    const reply = replied(
      {
        reasoning: 'a',
        reasoning_details: [{ type: 'reasoning.text', text: 'a', index: 0, format: 'x', signature: null }],
      },
      { reasoning: 'b', reasoning_details: [{ type: 'reasoning.text', text: 'b', index: 0 }] },
      { reasoning_details: [{ type: 'reasoning.text', signature: 'c2ln', index: 0 }] },
      { reasoning_details: [{ type: 'reasoning.encrypted', data: 'AA', id: 'r1', index: 1 }] },
      { reasoning_details: [{ type: 'reasoning.encrypted', data: 'BB', id: 'r2', index: 1 }] },
      call('c1'),
    );
    expect(sent([reply])[1]).toEqual({
      ...calling('c1'),
      reasoning_details: [
        { type: 'reasoning.text', text: 'ab', index: 0, format: 'x', signature: 'c2ln' },
        { type: 'reasoning.encrypted', data: 'AA', id: 'r1', index: 1 },
        { type: 'reasoning.encrypted', data: 'BB', id: 'r2', index: 1 },
      ],
    });
  });

  it('as signatures beside a call, inside its function and beside the message', () => {
    const extra = { extra_content: { google: { thought_signature: 'U0lH' } } };
    const reply = replied(call('c1', extra), call('c2', {}, { thought_signature: 'Rg==' }, 1), call('c3', {}, {}, 2), {
      content: '',
      extra_content: { google: { thought_signature: 'TQ==' } },
    });
    const [message] = sent([reply]).slice(1);
    expect(message).toEqual({
      role: 'assistant',
      content: null,
      extra_content: { google: { thought_signature: 'TQ==' } },
      tool_calls: [
        { id: 'c1', type: 'function', function: { name: 'look', arguments: '{}' }, ...extra },
        { id: 'c2', type: 'function', function: { name: 'look', arguments: '{}', thought_signature: 'Rg==' } },
        { id: 'c3', type: 'function', function: { name: 'look', arguments: '{}' } },
      ],
    });
  });

  it('as the id of the call, whatever it holds', () => {
    const id = `call_1__thought__${'QUJD'.repeat(1_500)}+/=`;
    const [, message, result] = sent([replied(call(id))]);
    expect(message).toEqual(calling(id));
    expect(result).toMatchObject({ tool_call_id: id });
  });

  it('to each of two calls with one id, which get one of their own', () => {
    const reply = replied(
      call('x', { thought_signature: 'MQ==' }),
      call('y', {}, {}, 1),
      call('', { thought_signature: 'Mw==' }, {}, 2),
    ).map((block): ContentBlock =>
      block.tag === 'tool-call' && block.val.id === 'y' ? { tag: 'tool-call', val: { ...block.val, id: 'x' } } : block,
    );
    const calls = sent([reply])[1]?.['tool_calls'] as readonly { readonly id: string; thought_signature?: string }[];
    expect(calls.map(({ id, thought_signature: signature }) => [id, signature])).toEqual([
      ['x', 'MQ=='],
      ['call_2', undefined],
      ['call_3', 'Mw=='],
    ]);
  });

  it('and costs no more than its length', () => {
    const keys = Object.fromEntries(Array.from({ length: 50_000 }, (_, at) => [`k${at}`, at]));
    const detail = (more: object): object => ({ reasoning_details: [{ type: 'reasoning.text', index: 0, ...more }] });
    const pieces = Array.from({ length: 20_000 }, () => detail({ text: 'x' }));
    const [, message] = sent([replied(detail({ ...keys, text: '' }), ...pieces, call('c1'))]);
    const [joined] = (message?.['reasoning_details'] ?? []) as readonly {
      readonly k9: number;
      readonly text: string;
    }[];
    expect([joined?.k9, joined?.text.length]).toEqual([9, 20_000]);
  });

  it('never to another model or another origin', () => {
    const id = 'x'.repeat(65);
    const reply = replied(
      { reasoning_content: 'hm', reasoning_details: [{ type: 'reasoning.text', text: 'hm' }], extra_content: {} },
      call(id, { extra_content: { google: {} } }),
    );
    expect(sent([reply], { model: 'm-2' })[1]).toEqual(calling('call_1'));
    expect(sent([reply], { endpoint: 'https://api.example.com' })[1]).toEqual(calling('call_1'));
  });
});
