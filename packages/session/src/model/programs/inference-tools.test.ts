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
    maxCalls: null,
    onFault: (reason) => told.push(reason),
    onStubborn: (why) => told.push(why),
    ...over,
  });
  return { tools, waiting, told };
}

const call = { name: 'count', input: { nth: 1 } };
const another = { name: 'count', input: { nth: 2 } };
const fine: ToolAnswer = { content: 'ok', isError: false };

describe('the calls of an inference', () => {
  it('run one after another, in the order in which they came', async () => {
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

  it('hold up its end, and those that come later or have not begun never run', async () => {
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

  it('end it with the error that broke one of them off, which the program never sees', async () => {
    const { tools, waiting, told } = open();
    const answer = tools.call(call);
    await Promise.resolve();
    const reason = new Error('the disk with the trace is full');
    waiting[0]?.fail(reason);
    await expect(answer).rejects.toThrow(/^the call was broken off$/);
    expect(told).toEqual([reason]);
    await expect(tools.finish()).rejects.toBe(reason);
  });

  it('fail beyond their number, and end a program that ignores it', async () => {
    const { tools, told } = open({ maxCalls: 2, callTool: async () => fine });
    await tools.call(call);
    await tools.call(call);
    const content = 'not carried out: the 2 turns of this task are used up. Answer with what is known.';
    expect(await tools.call(call)).toEqual({ content, isError: true });
    expect(await tools.call(call)).toEqual({ content, isError: true });
    expect(told).toEqual([]);
    await tools.call(call);
    expect(told).toEqual(['inference.max_turns is used up']);
  });

  const tooMany = {
    content: 'not carried out: too many calls wait for others. Make it again once those are answered.',
    isError: true,
  };

  it('wait in a number of at most 64, and end a program that does not heed it', async () => {
    const { tools, told, waiting } = open();
    const answers = Array.from({ length: 65 }, () => tools.call(call));
    for (let refused = 0; refused < 64; refused += 1) expect(await tools.call(call)).toEqual(tooMany);
    expect(told).toEqual([]);
    expect(await tools.call(call)).toEqual(tooMany);
    expect(told).toEqual(['too many of its calls wait']);
    waiting[0]?.answer(fine);
    expect(await answers[0]).toEqual(fine);
    const taken = tools.call(call);
    expect(await tools.call(call)).toEqual(tooMany);
    for (let next = 1; next <= 65; next += 1) {
      await expect.poll(() => waiting.length).toBe(next + 1);
      waiting[next]?.answer(fine);
    }
    expect(await taken).toEqual(fine);
  });

  it('use up no turn where too many wait: each is carried out when it is made again', async () => {
    const { tools, told } = open({ maxCalls: 100, callTool: async () => fine });
    const answers = await Promise.all(Array.from({ length: 100 }, () => tools.call(call)));
    const refused = answers.filter(({ isError }) => isError);
    expect(refused).toEqual(Array.from({ length: 35 }, () => tooMany));
    for (const _ of refused) expect(await tools.call(call)).toEqual(fine);
    expect((await tools.call(call)).content).toContain('the 100 turns of this task are used up');
    expect([told, tools.made]).toEqual([[], 136]);
  });

  it.each([
    ['texts', { text: 'x'.repeat(15 * 1024 * 1024) }],
    ['keys', { ['x'.repeat(15 * 1024 * 1024)]: 1 }],
    ['values', { list: Array.from({ length: 480 * 1024 }, () => []) }],
  ])('hold 32 Mi characters of %s while they wait, or one call of any size', async (_, input) => {
    const { tools, waiting } = open();
    const answers = [1, 2, 3].map(() => tools.call({ name: 'count', input }));
    expect(await answers[2]).toEqual(tooMany);
    expect(await Promise.race([answers[1], Promise.resolve('waits')])).toBe('waits');
    await expect.poll(() => waiting.length).toBe(1);
    waiting[0]?.answer(fine);
    await answers[0];
    const again = tools.call({ name: 'count', input });
    expect(await Promise.race([again, Promise.resolve('waits')])).toBe('waits');
    await expect.poll(() => waiting.length).toBe(2);
    waiting[1]?.answer(fine);
    await answers[1];
    await expect.poll(() => waiting.length).toBe(3);
    waiting[2]?.answer(fine);
    await again;
    const lone = tools.call({ name: 'count', input: [input, input, input, input] });
    await expect.poll(() => waiting.length).toBe(4);
    waiting[3]?.answer(fine);
    expect(await lone).toEqual(fine);
  });
});
