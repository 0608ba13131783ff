import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import {
  askChatCompletions,
  askMessages,
  driverRequest,
  events,
  ScriptedPorts,
} from '../../../../test/artifacts/scripted-ports.ts';
import type { ContentBlock, DriverRequest, DriverResponse, Message } from '../driver.ts';

type Infer = (request: DriverRequest, ports: ScriptedPorts) => DriverResponse;

const openAiReply = events({ choices: [{ index: 0, delta: { content: 'ok' }, finish_reason: 'stop' }] });
const anthropicReply = events(
  { type: 'message_start', message: { usage: { input_tokens: 1, output_tokens: 1 } } },
  { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 1 } },
  { type: 'message_stop' },
);

const drivers: readonly [string, Infer, readonly string[]][] = [
  ['svc-driver-openai', askChatCompletions, openAiReply],
  ['svc-driver-anthropic', askMessages, anthropicReply],
];

const text = fc.string({ unit: 'grapheme', maxLength: 12 });
const block: fc.Arbitrary<ContentBlock> = fc.oneof(
  text.map((val): ContentBlock => ({ tag: 'text', val })),
  fc
    .record({ id: fc.constantFrom('a', 'b', '', 'odd id'), name: fc.constantFrom('read', 'g++'), input: text })
    .map((val): ContentBlock => ({ tag: 'tool-call', val })),
);
const content = fc.array(block, { maxLength: 3 });
const message: fc.Arbitrary<Message> = fc.oneof(
  content.map((val): Message => ({ tag: 'user', val })),
  content.map((val): Message => ({ tag: 'assistant', val })),
  fc
    .record({ toolCallId: fc.constantFrom('a', 'b', ''), isError: fc.boolean(), content })
    .map((val): Message => ({ tag: 'tool', val })),
);
const conversation = fc.array(fc.array(message, { minLength: 1, maxLength: 4 }), { minLength: 1, maxLength: 5 });

const tools = ['read', 'g++'].map((name) => ({ name, description: '', inputSchema: '{"type":"object"}' }));

function portsFor(reply: readonly string[], count = 1): ScriptedPorts {
  return new ScriptedPorts(...Array.from({ length: count }, () => ({ pieces: reply })));
}

describe.each(drivers)('a conversation that %s keeps', (_, infer, reply) => {
  it('is sent as one that it is given whole, however it grew', () => {
    fc.assert(
      fc.property(conversation, text, (turns, system) => {
        const growing = portsFor(reply, turns.length);
        let continuationId: string | null = null;
        for (const messages of turns) {
          ({ continuationId } = infer(driverRequest({ messages, system, tools, continuationId }), growing));
        }
        const whole = portsFor(reply);
        infer(driverRequest({ messages: turns.flat(), system, tools }), whole);
        expect(growing.body(turns.length)).toEqual(whole.body());
      }),
    );
  });

  const first = driverRequest({ tools });
  const forgotten = 'kept: forgotten';

  it('ends its name in the number of its messages', () => {
    const { continuationId } = infer(first, portsFor(reply));
    expect(continuationId).toMatch(/^kept:\d+-\d+:1$/);
    const next = driverRequest({ tools, continuationId, messages: [...first.messages, ...first.messages] });
    expect(infer(next, portsFor(reply)).continuationId).toMatch(/^kept:\d+-\d+:3$/);
  });

  it('is forgotten once another has been asked about', () => {
    const { continuationId } = infer(first, portsFor(reply));
    infer(first, portsFor(reply));
    expect(() => infer({ ...first, continuationId }, portsFor(reply))).toThrow(forgotten);
  });

  it('is forgotten where it would be written otherwise now', () => {
    const { continuationId } = infer(first, portsFor(reply));
    expect(() => infer({ ...first, tools: [], continuationId }, portsFor(reply))).toThrow(forgotten);
  });

  it('is forgotten from an earlier turn on', () => {
    const { continuationId } = infer(first, portsFor(reply));
    infer({ ...first, continuationId }, portsFor(reply));
    expect(() => infer({ ...first, continuationId }, portsFor(reply))).toThrow(forgotten);
  });
});
