import { describe, expect, it } from 'vitest';

import { blocking, driverRequest, ScriptedPorts } from '../../../../../test/artifacts/scripted-ports.ts';
import type { DriverResponse } from '../../driver.ts';
import { openDriver } from './script-driver.ts';

const configOf = (text: string): string => JSON.stringify({ script: 'demo.yaml', script_text: text });
const twoTurns = `
- delay_ms: 250
  thinking: [hm]
  chunks: ["Let me ", look]
  content:
    - { type: thinking, text: hm, signature: c2ln }
    - { type: tool_call, id: c1, name: svc-tool-editor, input: { command: list } }
  stop_reason: tool_call
  usage: { input_tokens: 3, output_tokens: 4 }
- content: [{ type: text, text: Done. }]
  stop_reason: end_turn
`;

function turns(text: string, count: number): { readonly responses: DriverResponse[]; readonly ports: ScriptedPorts } {
  const ports = new ScriptedPorts();
  const infer = blocking(openDriver());
  const responses: DriverResponse[] = [];
  for (let turn = 0; turn < count; turn += 1) {
    const continuationId = responses.at(-1)?.continuationId ?? null;
    responses.push(infer(driverRequest({ config: configOf(text), continuationId }), ports));
  }
  return { responses, ports };
}

describe('a script', () => {
  it('plays one response a turn, with what is streamed and waited for first', () => {
    const { responses, ports } = turns(twoTurns, 2);
    expect(responses).toEqual([
      {
        content: [
          { tag: 'thinking', val: { text: 'hm', signature: 'c2ln' } },
          { tag: 'tool-call', val: { id: 'c1', name: 'svc-tool-editor', input: '{"command":"list"}' } },
        ],
        stopReason: { tag: 'tool-call' },
        usage: { inputTokens: 3, outputTokens: 4 },
        continuationId: '1',
      },
      { content: [{ tag: 'text', val: 'Done.' }], stopReason: { tag: 'end-turn' }, usage: null, continuationId: '2' },
    ]);
    expect(ports.slept).toEqual([250]);
    expect(ports.emitted).toEqual(['~hm', 'Let me ', 'look']);
  });

  it('starts over when a task starts', () => {
    const infer = blocking(openDriver());
    const first = (): DriverResponse => infer(driverRequest({ config: configOf(twoTurns) }), new ScriptedPorts());
    expect(first()).toEqual(first());
  });

  it('fails past its end, saying so', () => {
    expect(() => turns(twoTurns, 3)).toThrow(
      'script demo.yaml is past its end: it has 2 responses, and this is turn 3',
    );
    expect(() => turns('[]', 1)).toThrow('script demo.yaml is past its end: it has 0 responses, and this is turn 1');
  });

  it('plays responses that are for some tasks only to those, and counts them for each', () => {
    const text = `
- { when: count, content: [{ type: text, text: one }], stop_reason: end_turn }
- { when: shout, content: [{ type: text, text: HO }], stop_reason: end_turn }
- { content: [{ type: text, text: any }], stop_reason: end_turn }
`;
    const played = (task: string, continuationId: string | null): unknown => {
      const config = configOf(text);
      const messages = [
        { tag: 'user', val: [{ tag: 'text', val: 'shout' }] },
        { tag: 'assistant', val: [{ tag: 'text', val: 'HO' }] },
        { tag: 'user', val: [{ tag: 'text', val: task }] },
        { tag: 'tool', val: { toolCallId: 'c', isError: false, content: [{ tag: 'text', val: 'shout' }] } },
      ] as const;
      return blocking(openDriver())(driverRequest({ config, messages, continuationId }), new ScriptedPorts()).content;
    };
    expect(played('Please count.', null)).toEqual([{ tag: 'text', val: 'one' }]);
    expect(played('Please count.', '1')).toEqual([{ tag: 'text', val: 'any' }]);
    expect(played('Sing.', null)).toEqual([{ tag: 'text', val: 'any' }]);
    expect(() => played('Sing.', '1')).toThrow(
      'script demo.yaml is past its end: it has 1 response for this task, and this is turn 2',
    );
  });

  it('may give a continuation id of its own', () => {
    const text = `[{ content: [], stop_reason: end_turn, continuation_id: abc }, { content: [], stop_reason: max_tokens }]`;
    expect(turns(text, 2).responses.map((response) => response.continuationId)).toEqual(['1 abc', '2']);
  });

  it('may fail a turn, or end it for a reason that nobody knows', () => {
    const text = `[{ content: [], stop_reason: error, error: no model }, { content: [], stop_reason: lunch }]`;
    expect(turns(text, 2).responses.map((response) => response.stopReason)).toEqual([
      { tag: 'error', val: 'no model' },
      { tag: 'other', val: 'lunch' },
    ]);
  });

  it('may be written as JSON', () => {
    const text = JSON.stringify([{ content: [{ type: 'text', text: 'hi' }], stop_reason: 'end_turn' }]);
    expect(turns(text, 1).responses[0]?.content).toEqual([{ tag: 'text', val: 'hi' }]);
  });
});

describe('a script that is wrong', () => {
  it.each([
    ['text: hi', 'script demo.yaml: must be a list of responses'],
    ['', 'script demo.yaml: must be a list of responses'],
    ['- [', 'script demo.yaml: Flow sequence in block collection must be sufficiently indented'],
    ['- hi', 'script demo.yaml: response 1: must be a mapping'],
    [
      '- { text: hi }',
      'script demo.yaml: response 1, text: is not known; the keys are content, stop_reason, error, usage',
    ],
    ['- { stop_reason: end_turn }', 'script demo.yaml: response 1, content: is missing'],
    ['- { content: [] }', 'script demo.yaml: response 1, stop_reason: is missing'],
    ['- { content: [], stop_reason: 1 }', 'script demo.yaml: response 1, stop_reason: must be text'],
    ['- { content: hi, stop_reason: end_turn }', 'script demo.yaml: response 1, content: must be a list of blocks'],
    [
      '- { content: [{ type: image }], stop_reason: end_turn }',
      'script demo.yaml: response 1, content[0].type: must be text, thinking or tool_call',
    ],
    [
      '- { content: [{ type: text }], stop_reason: end_turn }',
      'script demo.yaml: response 1, content[0].text: is missing',
    ],
    [
      '- { content: [{ type: tool_call, id: a, name: b }], stop_reason: tool_call }',
      'script demo.yaml: response 1, content[0].input: is missing',
    ],
    [
      '- { content: [], stop_reason: end_turn }\n- { content: [], stop_reason: end_turn, delay_ms: -1 }',
      'script demo.yaml: response 2, delay_ms: must be a whole number from 0 to 600000',
    ],
    ['- { content: [], stop_reason: end_turn, when: 1 }', 'script demo.yaml: response 1, when: must be text'],
    [
      '- { content: [], stop_reason: end_turn, chunks: hi }',
      'script demo.yaml: response 1, chunks: must be a list of texts',
    ],
    [
      '- { content: [], stop_reason: end_turn, error: x }',
      'script demo.yaml: response 1, error: belongs to stop_reason error alone',
    ],
    [
      '- { content: [], stop_reason: end_turn, usage: { input_tokens: 1 } }',
      'script demo.yaml: response 1, usage.output_tokens: is missing',
    ],
  ])('fails before it plays: %s', (text, message) => {
    expect(() => turns(text, 1)).toThrow(message);
  });

  it('fails without a name, without its text, or beside other keys', () => {
    const infer =
      (config: object): (() => unknown) =>
      () =>
        blocking(openDriver())(driverRequest({ config: JSON.stringify(config) }), new ScriptedPorts());
    expect(infer({})).toThrow('inference.driver.config.script is missing');
    expect(infer({ script: 'a.yaml' })).toThrow('the runtime did not hand over script a.yaml');
    expect(infer({ script: 'a.yaml', speed: 2 })).toThrow('inference.driver.config.speed is not known');
  });

  it('expands no more aliases than a person writes', () => {
    const bomb = [
      '- &a [x,x,x,x,x,x,x,x,x]',
      ...Array.from({ length: 8 }, (_, level) => {
        const [name, below] = ['bcdefghi'[level], 'abcdefgh'[level]];
        return `- &${name} [${Array.from({ length: 9 }, () => `*${below}`).join(',')}]`;
      }),
    ].join('\n');
    expect(() => turns(bomb, 1)).toThrow('script demo.yaml: Excessive alias count');
  });
});
