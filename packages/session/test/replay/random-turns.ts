/** Answers as a model would that calls the tools of random sessions in any order. */

import type { InferenceRequest, InferenceResponse } from '../../src/model/driver.ts';
import { aWhile, chance, oneOf } from './left-to-chance.ts';

/** What a call of a tool may be made with; with some of it none of them is carried out. */
const inputs: Readonly<Record<string, (() => object)[]>> = {
  work: [() => ({ n: Math.random() })],
  ask: [() => ({})],
  web__echo: [() => ({ text: `${Math.random()}` }), () => ({ text: 'fail' }), () => ({ text: 1 })],
  web__book: [() => ({})],
  guide: [() => ({}), () => ({ file: 'notes.md' }), () => ({ file: 'long.md', part: 2 }), () => ({ file: 'none.md' })],
  narrow: [() => ({})],
  skill: [() => ({})],
};

const names = Object.keys(inputs);

function randomCall(): { readonly name: string; readonly input: object } {
  const name = chance(2) ? 'work' : oneOf(names);
  return { name, input: oneOf(inputs[name] ?? [])() };
}

export async function randomTurn(
  _request: InferenceRequest,
  { onText }: { onText: (text: string) => void },
): Promise<InferenceResponse> {
  await aWhile();
  if (chance(3)) onText('Let me see.');
  await aWhile();
  const usage = { inputTokens: 10, outputTokens: Math.ceil(Math.random() * 90) };
  if (chance(3)) return { content: [{ type: 'text', text: `Done ${Math.random()}.` }], stopReason: 'end_turn', usage };
  if (chance(12)) return { content: [], stopReason: 'error', error: 'the provider is down', usage };
  const calls = Array.from({ length: 1 + Math.floor(Math.random() * 2) }, (_, index) => {
    const made = chance(20)
      ? { name: 'nothing', input: {} }
      : chance(3)
        ? { name: 'submit-plan', input: randomPlan() }
        : randomCall();
    return { type: 'tool_call', id: `call_${index}`, ...made } as const;
  });
  return { content: calls, stopReason: 'tool_call', usage };
}

function randomPlan(): object {
  const steps = Array.from({ length: 2 + Math.floor(Math.random() * 5) }, (_, index) => {
    const before = index > 0 && chance(2) ? `s${Math.floor(Math.random() * index)}` : null;
    const { name: tool, input } = randomCall();
    const given = before !== null && chance(3) ? { tool: 'work', input: { n: `{{steps.${before}.output}}` } } : null;
    return {
      id: `s${index}`,
      ...(given ?? (chance(5) ? { capsule: 'helper', version: '1.0.0', input: 'Help.' } : { tool, input })),
      depends_on: before === null ? [] : [before],
      retries: chance(3) ? 2 : 0,
      on_error: chance(2) ? 'continue' : 'skip',
    };
  });
  return { id: 'p', steps };
}
