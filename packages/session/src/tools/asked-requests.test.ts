import { getEventListeners } from 'node:events';

import { heldRequest } from '@svc/kit/keys/held-request.ts';
import { describe, expect, it } from 'vitest';

import { AskedRequests } from './asked-requests.ts';
import { QuestionTurns } from './question-turns.ts';
import type { CallVerdict } from './tool.ts';

const origin = 'https://api.test';
const request = (target: string) => heldRequest({ origin, method: 'POST', target, headers: [] }, Buffer.from('x'));
const held = (): AbortSignal => new AbortController().signal;
const deny: CallVerdict = { kind: 'deny', reason: 'a person denied this request', by: 'approvals' };
const denied = { kind: 'refused', reason: 'was not sent: a person denied this request' };

/** A person who answers when the test says so. */
class Person {
  readonly asked: string[] = [];
  readonly left: string[] = [];
  readonly #answers: ((verdict: CallVerdict | Error) => void)[] = [];
  readonly turns = new QuestionTurns();
  readonly requests = new AskedRequests(
    {
      asks: () => true,
      ask: async ({ target }) =>
        await new Promise((resolve, reject) => {
          this.asked.push(target);
          this.#answers.push((answer) => (answer instanceof Error ? reject(answer) : resolve(answer)));
        }),
      open: () => (this.asked.length === 0 ? null : `apr_${this.asked.length}`),
      left: ({ target }) => void this.left.push(target),
    },
    this.turns,
  );

  async answers(answer: CallVerdict | Error = { kind: 'proceed' }): Promise<void> {
    await settled();
    this.#answers.shift()?.(answer);
    await settled();
  }
}

async function settled(): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve));
}

describe('requests that a person is asked about', () => {
  it('make one question at a time, and one for each of two that are the same', async () => {
    const person = new Person();
    const answers = ['/a', '/b', '/a'].map((target) => person.requests.judge(request(target), held()));
    await settled();
    expect(person.asked).toEqual(['/a']);
    await person.answers();
    expect(person.asked).toEqual(['/a', '/b']);
    await person.answers(deny);
    await person.answers();
    expect(person.asked).toEqual(['/a', '/b', '/a']);
    expect(await Promise.all(answers)).toEqual([{ kind: 'proceed' }, denied, { kind: 'proceed' }]);
    expect(person.left).toEqual([]);
  });

  it('stay denied in their call, and nobody is asked again', async () => {
    const person = new Person();
    const first = person.requests.judge(request('/a'), held());
    await person.answers(deny);
    expect([await first, await person.requests.judge(request('/a'), held())]).toEqual([denied, denied]);
    expect(person.asked).toEqual(['/a']);
  });

  it('get the id of the approval once nobody waits, and count as left by then', async () => {
    const person = new Person();
    const gone = new AbortController();
    const answer = person.requests.judge(request('/a'), gone.signal);
    await settled();
    gone.abort();
    expect(await answer).toMatchObject({ kind: 'refused', reason: expect.stringContaining('(apr_1)') as string });
    expect(person.left).toEqual(['/a']);
  });

  it('leave no listener on a signal that outlives them', async () => {
    const signal = held();
    const person = new Person();
    const answer = person.requests.judge(request('/a'), signal);
    await settled();
    expect(getEventListeners(signal, 'abort')).toHaveLength(2);
    await person.answers();
    await answer;
    expect(getEventListeners(signal, 'abort')).toEqual([]);
  });

  it('make no question where nobody waits any more when their turn comes, or where the call is over', async () => {
    const person = new Person();
    const gone = new AbortController();
    const first = person.requests.judge(request('/a'), held());
    const given = person.requests.judge(request('/b'), gone.signal);
    const late = person.requests.judge(request('/c'), held());
    await settled();
    gone.abort();
    const over = person.turns.over();
    await person.answers();
    await over;
    expect(await first).toEqual({ kind: 'proceed' });
    expect((await given).kind).toBe('refused');
    expect(await late).toEqual({ kind: 'refused', reason: 'needs a person to approve it, and its call is over' });
    expect(person.asked).toEqual(['/a']);
  });

  it('make 64 questions in one call at most, and none whose end is not known', async () => {
    const person = new Person();
    const answers = Array.from({ length: 100 }, (_, n) => person.requests.judge(request(`/${n}`), held()));
    for (let n = 0; n < 70; n += 1) await person.answers(n === 0 ? new Error('canceled') : deny);
    expect(person.asked).toHaveLength(64);
    expect((await Promise.all(answers)).filter(({ kind }) => kind === 'proceed')).toEqual([]);
    expect(person.turns.open).toBeNull();
  });
});

describe('a request that is held', () => {
  it('has its headers with it, without keys and what differs each time', () => {
    const headers = [
      ['Content-Type', 'text/plain'],
      ['X-Api-Key', 'of-the-program'],
      ['authorization', 'Bearer placeholder'],
      ['Private_Token', 'placeholder'],
      ['Cookie', 'a=b'],
      ['X-Amz-Date', '20261130T120000Z'],
      ['User-Agent', 'curl'],
      ['If-Match', '"1"'],
    ] as const;
    const { headers: shown } = heldRequest({ origin, method: 'POST', target: '/', headers }, Buffer.alloc(0));
    expect(shown).toEqual(['content-type: text/plain', 'if-match: "1"']);
  });

  it('has a hash of its keys with it, and of a signature of AWS only who makes it', () => {
    const keysOf = (name: string, value: string) =>
      heldRequest({ origin, method: 'POST', target: '/', headers: [[name, value]] }, Buffer.alloc(0)).keys;
    const signature = (who: string, at: string): string =>
      `AWS4-HMAC-SHA256 Credential=${who}/${at}/eu-west-1/s3/aws4_request, SignedHeaders=host, Signature=${at}`;
    expect(keysOf('accept', 'text/plain')).toBe(undefined);
    expect(keysOf('Cookie', 'a=b')).toMatch(/^[0-9a-f]{64}$/);
    expect(keysOf('cookie', 'a=b')).toBe(keysOf('Cookie', 'a=b'));
    expect(keysOf('Cookie', 'a=c')).not.toBe(keysOf('Cookie', 'a=b'));
    const [one, later, other] = [signature('ONE', '1'), signature('ONE', '2'), signature('TWO', '1')];
    expect(keysOf('authorization', later)).toBe(keysOf('authorization', one));
    expect(keysOf('authorization', other)).not.toBe(keysOf('authorization', one));
  });

  it('has its text with it, or its size and hash alone where that is no text or too long', () => {
    const shown = (body: Buffer) => heldRequest({ origin, method: 'POST', target: '/', headers: [] }, body).body;
    const sha256 = '2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824';
    expect(shown(Buffer.from('hello'))).toEqual({ bytes: 5, sha256, text: 'hello' });
    for (const body of [
      Buffer.from([0xff, 0xfe]),
      Buffer.from('a\0b'),
      Buffer.from('\u001b[2J'),
      Buffer.alloc(65_537, 'a'),
    ])
      expect(shown(body).text).toBeNull();
  });
});
