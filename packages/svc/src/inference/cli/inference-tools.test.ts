import { describe, expect, it } from 'vitest';

import type { ToolAnswer } from '../driver.ts';
import { InferenceTools, type InferenceToolsOptions } from './mcp-service.ts';

interface Waiting {
  readonly id: string;
  readonly input: unknown;
  readonly answer: (answer: ToolAnswer) => void;
  readonly fail: (error: unknown) => void;
}

function open(over: Partial<InferenceToolsOptions> = {}) {
  const waiting: Waiting[] = [];
  const told: unknown[] = [];
  const tools = new InferenceTools({
    definitions: [],
    callTool: ({ id, input }) => new Promise((answer, fail) => waiting.push({ id, input, answer, fail })),
    mostCalls: null,
    onFault: (reason) => told.push(reason),
    onStubborn: () => told.push('stubborn'),
    ...over,
  });
  return { tools, waiting, told };
}

const call = { name: 'count', input: { nth: 1 } };
const another = { name: 'count', input: { nth: 2 } };
const fine: ToolAnswer = { content: 'ok', isError: false };

describe('the calls of an inference', () => {
  it('are carried out one after another, in the order in which they came', async () => {
    const { tools, waiting } = open();
    const answers = [tools.call(call), tools.call(another)];
    await Promise.resolve();
    expect(waiting.map(({ id, input }) => [id, input])).toEqual([['', { nth: 1 }]]);
    waiting[0]?.answer({ content: 'first', isError: false });
    expect(await answers[0]).toEqual({ content: 'first', isError: false });
    await new Promise(setImmediate);
    expect(waiting.map(({ input }) => input)).toEqual([{ nth: 1 }, { nth: 2 }]);
    waiting[1]?.answer(fine);
    expect(await answers[1]).toEqual(fine);
  });

  it('are waited for at its end, and those that come later or have not begun are not carried out', async () => {
    const { tools, waiting } = open();
    const answers = [tools.call(call), tools.call(call)];
    await Promise.resolve();
    let isFinished = false;
    const finished = tools.finish().then(() => (isFinished = true));
    const late = { content: 'the task is over: nothing is carried out any more', isError: true };
    expect(await tools.call(call)).toEqual(late);
    expect(isFinished).toBe(false);
    waiting[0]?.answer(fine);
    await finished;
    expect(await Promise.all(answers)).toEqual([fine, late]);
    expect(waiting).toHaveLength(1);
  });

  it('end it with what one of them was broken off by, of which the program learns nothing', async () => {
    const { tools, waiting, told } = open();
    const answer = tools.call(call);
    await Promise.resolve();
    const reason = new Error('the disk with the trace is full');
    waiting[0]?.fail(reason);
    await expect(answer).rejects.toThrow(/^the call was broken off$/);
    expect(told).toEqual([reason]);
    await expect(tools.finish()).rejects.toBe(reason);
  });

  it('are refused beyond their number, and end a program that does not heed it', async () => {
    const { tools, told } = open({ mostCalls: 2, callTool: async () => fine });
    await tools.call(call);
    await tools.call(call);
    const content = 'not carried out: the 2 turns of this task are used up. Answer with what is known.';
    expect(await tools.call(call)).toEqual({ content, isError: true });
    expect(await tools.call(call)).toEqual({ content, isError: true });
    expect(told).toEqual([]);
    await tools.call(call);
    expect(told).toEqual(['stubborn']);
  });
});
