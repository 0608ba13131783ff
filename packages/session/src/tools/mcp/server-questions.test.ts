import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest';

import { LogBudget } from '@svc/kit/log-budget.ts';
import { bookTool, RemoteMcpServer } from '../../../../../test/support/remote-server.ts';
import { passed } from '../../../test/tools/played-server.ts';
import type { InputAnswer, ToolOutcome } from '../tool.ts';
import { pinnedTools } from './pinned-tools.ts';
import { remoteServer } from './remote-server.ts';
import { CallQuestions } from './server-questions.ts';
import { ToolServer } from './tool-server.ts';

const opened: ToolServer[] = [];
afterEach(async () => {
  await Promise.all(opened.splice(0).map((server) => server.close()));
});

type Ask = (prompt: string) => Promise<InputAnswer>;

interface Booking {
  readonly remote: RemoteMcpServer;
  readonly book: (ask?: Ask, signal?: AbortSignal) => Promise<ToolOutcome>;
}

async function asking(isModern: boolean, forms: readonly object[], deadlineMs = 20_000): Promise<Booking> {
  const remote = await RemoteMcpServer.start();
  Object.assign(remote.ways, { isModern, forms, tools: [bookTool] });
  onTestFinished(() => remote.close());
  const server = new ToolServer(
    {
      name: 'tables',
      place: remoteServer({ url: new URL(remote.url), allow: [], proxyFor: null, headers: {} }),
      pinned: pinnedTools([bookTool]),
      deadlineMs,
      sessionDirectory: '/nowhere',
      logs: new LogBudget(),
      cutBefore: (text) => text,
      version: '1',
      clock: { monotonicMs: () => 0 },
      onChange: () => {},
    },
    { tools: [bookTool], leftOut: [] },
  );
  opened.push(server);
  const call = { tool: 'book', args: {} };
  return {
    remote,
    book: async (ask, signal = new AbortController().signal) =>
      await server.call({ ...call, signal, ...(ask === undefined ? {} : { ask }) }),
  };
}

/** Gives these answers one after the other. */
function answering(...texts: readonly string[]): { readonly ask: Ask; readonly prompts: string[] } {
  const prompts: string[] = [];
  const ask = async (prompt: string): Promise<InputAnswer> => {
    const text = texts[prompts.length];
    prompts.push(prompt);
    return text === undefined ? { kind: 'timed-out' } : { kind: 'answered', text };
  };
  return { ask, prompts };
}

/** Limits of time run out only when a test moves time on. */
function timeStandsStill(): void {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
}

function formOf(properties: object, message = 'Which table?'): object {
  return { mode: 'form', message, requestedSchema: { type: 'object', properties } };
}

const seats = formOf({ seats: { type: 'integer', minimum: 1, maximum: 9 } });

describe.each([
  { revision: '2026-07-28', isModern: true },
  { revision: '2025-11-25', isModern: false },
])('a server on the web that asks in revision $revision', ({ isModern }) => {
  it('gets an answer for each field, of its type', async () => {
    const form = formOf({
      seats: { type: 'integer', title: 'Seats', description: 'How many?' },
      inside: { type: 'boolean' },
      room: {
        type: 'string',
        oneOf: [
          { const: 'r1', title: 'Red' },
          { const: 'r2', title: 'Blue' },
        ],
      },
      extras: { type: 'array', items: { type: 'string', enum: ['fish', 'wine', 'cake'] } },
      name: { type: 'string' },
    });
    const { book } = await asking(isModern, [form]);
    const { ask, prompts } = answering('4', 'Yes', 'blue', 'cake, fish', 'Ada');
    const content = { seats: 4, inside: true, room: 'r2', extras: ['cake', 'fish'], name: 'Ada' };
    expect(await book(ask)).toEqual(passed(JSON.stringify([{ action: 'accept', content }])));
    const head = 'the server of tables asks: Which table?\nGive no password or key here.\n';
    expect(prompts).toEqual([
      `${head}Seats (How many?): a whole number; an empty answer declines.`,
      `${head}inside: yes or no; an empty answer declines.`,
      `${head}room: one of Red, Blue; an empty answer declines.`,
      `${head}extras: any of fish, wine, cake, with commas between them; an empty answer declines.`,
      `${head}name: a text; an empty answer declines.`,
    ]);
  });

  it('gets a wrong answer asked again twice, and is declined then', async () => {
    const { book } = await asking(isModern, [seats]);
    const { ask, prompts } = answering('many', '0', '4');
    expect(await book(ask)).toEqual(passed('[{"action":"accept","content":{"seats":4}}]'));
    expect(prompts[1]).toContain('\n"many" does not fit. seats: a whole number;');
    const wrong = answering('10', '1.5', '2e0', '4');
    expect(await book(wrong.ask)).toEqual(passed('[{"action":"decline"}]'));
    expect(wrong.prompts).toHaveLength(3);
  });

  it('gets a form declined by an empty answer, and canceled where nobody answers', async () => {
    const { book } = await asking(isModern, [seats]);
    expect(await book(answering(' ').ask)).toEqual(passed('[{"action":"decline"}]'));
    expect(await book(answering().ask)).toEqual(passed('[{"action":"cancel"}]'));
  });

  it('may ask four times in a call, and fails the call with the fifth', async () => {
    const four = await asking(isModern, [seats, seats, seats, seats]);
    const answer = { action: 'accept', content: { seats: 4 } };
    expect(await four.book(answering('4', '4', '4', '4').ask)).toEqual(
      passed(JSON.stringify([answer, answer, answer, answer])),
    );
    const five = await asking(isModern, [seats, seats, seats, seats, seats]);
    expect(await five.book(answering('4', '4', '4', '4', '4').ask)).toMatchObject({
      status: 'failed',
      content: 'the server of tables asked more than 4 questions in one call',
    });
  });

  it('cannot have a person open an address', async () => {
    const { book } = await asking(isModern, [
      { mode: 'url', message: 'Log in', url: 'https://a.example/', elicitationId: '1' },
    ]);
    const { ask, prompts } = answering('yes');
    expect(await book(ask)).toMatchObject({ status: 'failed' });
    expect(prompts).toEqual([]);
  });

  it('waits for a person longer than for anything else', async () => {
    const { book } = await asking(isModern, [seats], 2000);
    timeStandsStill();
    const ask: Ask = async () => {
      vi.advanceTimersByTime(2300);
      return await Promise.resolve({ kind: 'answered', text: '2' });
    };
    expect(await book(ask)).toEqual(passed('[{"action":"accept","content":{"seats":2}}]'));
  });

  it('fails a call whose time is over after the answer', async () => {
    const { book, remote } = await asking(isModern, [seats], 2000);
    timeStandsStill();
    const ask: Ask = async () => {
      remote.ways.instead = (_request, response) => {
        if (!isModern) response.writeHead(202).end();
        vi.advanceTimersByTime(2000);
        return true;
      };
      return await Promise.resolve({ kind: 'answered', text: '2' });
    };
    expect(await book(ask)).toMatchObject({
      status: 'failed',
      content: 'the server of tables did not answer within 2 s',
    });
  });

  it('gets no answer to a call that is canceled', async () => {
    const { book } = await asking(isModern, [seats]);
    const leaving = new AbortController();
    const ask: Ask = async () => {
      leaving.abort(new Error('canceled'));
      throw new Error('canceled');
    };
    await expect(book(ask, leaving.signal)).rejects.toThrow('canceled');
  });

  it('has the calls answered from which its questions came', async () => {
    const { book } = await asking(isModern, [seats]);
    const calls = ['1', '2', '3', '4', '5'].map(async (text) => await book(answering(text).ask));
    expect((await Promise.all(calls)).map(({ content }) => content)).toEqual(
      [1, 2, 3, 4, 5].map((count) => `[{"action":"accept","content":{"seats":${count}}}]`),
    );
  });

  it('cannot put control characters or a long text before a person', async () => {
    const { book } = await asking(isModern, [
      formOf({ a: { type: 'string', title: 'x\u001b[2J' } }, `\u001b]0;x\u0007${'y'.repeat(5000)}`),
    ]);
    const { ask, prompts } = answering('z');
    await book(ask);
    expect(prompts[0]?.replaceAll('\n', '')).not.toMatch(/\p{Cc}/u);
    expect(prompts[0]?.length).toBeLessThan(2300);
  });
});

describe('CallQuestions', () => {
  it.each([
    [
      'fields',
      formOf(Object.fromEntries(Array.from('abcdefghi').map((name) => [name, { type: 'string' }]))),
      'asked for more than 8 fields in one question',
    ],
    [
      'choices',
      formOf({ a: { type: 'string', enum: Array.from({ length: 51 }, (_, at) => String(at)) } }),
      'gave more than 50 choices in one question',
    ],
  ])('refuses too many %s', async (_what, form, words) => {
    const { ask } = answering('a');
    await expect(new CallQuestions('s', ask).form({ ...form })).rejects.toThrow(words);
  });

  it('takes a form without fields for a question that yes answers', async () => {
    const questions = new CallQuestions('s', answering('yes', 'sure', '').ask);
    expect(await questions.form({ ...formOf({}) })).toEqual({ action: 'accept', content: {} });
    expect(await questions.form({ ...formOf({}) })).toEqual({ action: 'decline' });
    expect(await questions.form({ ...formOf({}) })).toEqual({ action: 'decline' });
  });

  it('keeps a field that is named like a part of every object', async () => {
    const questions = new CallQuestions('s', answering('a').ask);
    const form = JSON.parse(
      '{"message":"m","requestedSchema":{"properties":{"__proto__":{"type":"string"}}}}',
    ) as object;
    const { content } = (await questions.form({ ...form })) as { readonly content: object };
    expect(Object.keys(content)).toEqual(['__proto__']);
  });
});
