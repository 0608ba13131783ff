import { describe, expect, it } from 'vitest';

import type { Message } from '@svc/session/model/driver.ts';
import { callContent, inferenceContent, maxContent } from './content.ts';
import type { Attribute } from './otlp-records.ts';

const asItIs = (text: string): string => text;
const valueOf = (attributes: readonly Attribute[], key: string): string =>
  String(attributes.find((each) => each.key === key)?.value);

const user = (text: string): Message => ({ role: 'user', content: [{ type: 'text', text }] });

describe('the content of an inference', () => {
  it('follows the conventions for messages', () => {
    const messages: readonly Message[] = [
      user('What is 1?'),
      { role: 'assistant', content: [{ type: 'tool_call', id: 'c1', name: 'count', input: { of: 1 } }] },
      { role: 'tool', toolCallId: 'c1', isError: false, content: [{ type: 'text', text: 'one' }] },
    ];
    const answer = {
      content: [{ type: 'thinking', text: 'hm' } as const, { type: 'text', text: 'One.' } as const],
      stopReason: 'end_turn',
    };
    const content = inferenceContent({ system: 'Be short.', messages }, answer, asItIs);
    expect(content.map(({ key, value }) => [key, JSON.parse(String(value))])).toEqual([
      ['gen_ai.system_instructions', [{ type: 'text', content: 'Be short.' }]],
      [
        'gen_ai.input.messages',
        [
          { role: 'user', parts: [{ type: 'text', content: 'What is 1?' }] },
          { role: 'assistant', parts: [{ type: 'tool_call', id: 'c1', name: 'count', arguments: { of: 1 } }] },
          { role: 'tool', parts: [{ type: 'tool_call_response', id: 'c1', response: 'one' }] },
        ],
      ],
      [
        'gen_ai.output.messages',
        [
          {
            role: 'assistant',
            parts: [
              { type: 'reasoning', content: 'hm' },
              { type: 'text', content: 'One.' },
            ],
            finish_reason: 'end_turn',
          },
        ],
      ],
    ]);
  });

  it('has the last messages that fit, whole', () => {
    const messages = Array.from({ length: 100 }, (_, number) => user(`${number} ${'x'.repeat(2000)}`));
    const sent = valueOf(inferenceContent({ system: '', messages }, null, asItIs), 'gen_ai.input.messages');
    const kept = JSON.parse(sent) as readonly { readonly parts: readonly { readonly content: string }[] }[];
    expect(sent.length).toBeLessThan(maxContent);
    expect([kept.length, kept.at(-1)?.parts[0]?.content.slice(0, 3)]).toEqual([31, '99 ']);
  });

  it('has a part of a last message that is too long', () => {
    const messages = [user('first'), user('x'.repeat(10_000_000))];
    const sent = valueOf(inferenceContent({ system: '', messages }, null, asItIs), 'gen_ai.input.messages');
    expect(JSON.parse(sent)).toEqual([{ role: 'user', parts: [{ type: 'text', content: 'x'.repeat(maxContent) }] }]);
  });

  it('has no secret, also where one lies across the cut', () => {
    const secret = 's3cret-of-a-session';
    const redact = (text: string): string => text.replaceAll(secret, '[secret]');
    const text = `${'x'.repeat(maxContent - 5)}${secret}`;
    expect(valueOf(callContent({ text: secret }, text, redact), 'gen_ai.tool.call.result')).toMatch(/x\[secr$/);
    expect(valueOf(callContent({ text: secret }, null, redact), 'gen_ai.tool.call.arguments')).toBe(
      '{"text":"[secret]"}',
    );
  });
});
