import { createHmac } from 'node:crypto';
import { setImmediate as turn } from 'node:timers/promises';

import { describe, expect, it } from 'vitest';

import { FakeClock } from '../../../../../test/support/fake-clock.ts';
import type { Posted } from './post-notification.ts';
import { PushBudget, type PushShare } from './push-budget.ts';
import { PushQueue, type PushReceiver } from './push-queue.ts';

const failed: Posted = { kind: 'failed', why: 'it answered 500' };
const taken: Posted = { kind: 'taken' };
const local = { name: 'local', seesAll: true };
const ann = { name: 'token:ann', seesAll: false };
const bob = { name: 'token:bob', seesAll: false };

/** A queue whose receiver answers as `answer` says, each request in a turn of the event loop of its own. */
class Received {
  readonly clock = new FakeClock();
  readonly bodies: string[] = [];
  readonly headers: Readonly<Record<string, string>>[] = [];
  gone = 0;
  readonly queue: PushQueue;

  constructor(
    answer: (tries: number) => Posted | Promise<Posted>,
    receiver: Partial<PushReceiver> = {},
    share: PushShare = new PushBudget().enter(local),
  ) {
    this.queue = new PushQueue({
      receiver: { headers: { 'x-mine': '1' }, key: null, ...receiver },
      clock: this.clock,
      share,
      post: async (headers, body) => {
        this.bodies.push(Buffer.from(body).toString());
        this.headers.push(headers);
        const tries = this.bodies.length;
        await turn();
        return await answer(tries);
      },
      onGone: () => {
        this.gone += 1;
      },
    });
  }

  add(...texts: readonly string[]): void {
    for (const text of texts) this.queue.add(Buffer.from(text));
  }

  /** Lets everything happen that waits for no time. */
  async settle(): Promise<void> {
    for (let turns = 0; turns < 20; turns += 1) await turn();
  }

  async pass(ms: number): Promise<void> {
    this.clock.advance(ms);
    await this.settle();
  }
}

/** Receivers of several clients. Each gets one request and answers when the test lets it. */
function clients(): {
  readonly asked: Record<string, number>;
  readonly add: (owner: typeof local, receivers: number) => void;
  /** Lets the first so many of the requests that have no answer yet answer. */
  readonly answer: (count: number) => void;
  readonly settle: () => Promise<void>;
} {
  const budget = new PushBudget();
  const asked: Record<string, number> = {};
  const answers: ((posted: Posted) => void)[] = [];
  let last: Received | null = null;
  return {
    asked,
    add: (owner, receivers) => {
      for (let made = 0; made < receivers; made += 1) {
        const post = (): Promise<Posted> => {
          asked[owner.name] = (asked[owner.name] ?? 0) + 1;
          return new Promise((resolve) => void answers.push(resolve));
        };
        last = new Received(post, {}, budget.enter(owner));
        last.add('a');
      }
    },
    answer: (count) => {
      for (const resolve of answers.splice(0, count)) resolve(taken);
    },
    settle: async () => await last?.settle(),
  };
}

describe('the notifications of a receiver', () => {
  it('go out in their order, one at a time, each under an id that its tries share', async () => {
    const received = new Received((tries) => (tries === 2 ? failed : taken));
    received.add('a', 'b', 'c');
    expect(received.bodies).toEqual([]);
    await received.settle();
    expect(received.bodies).toEqual(['a', 'b']);
    await received.pass(999);
    expect(received.bodies).toEqual(['a', 'b']);
    await received.pass(1);
    expect(received.bodies).toEqual(['a', 'b', 'b', 'c']);
    const ids = received.headers.map(({ 'webhook-id': id }) => id);
    expect(ids[0]).toMatch(/^msg_[0-9a-f]{32}$/);
    expect([ids[1] === ids[2], new Set(ids).size]).toEqual([true, 3]);
    expect(received.queue.totals).toEqual({ sent: 3, lost: 0, why: null });
  });

  it('go out after 1, 4, 16, 64 and 256 seconds again, then stop, and the next one has its turn', async () => {
    const received = new Received((tries) => (tries <= 6 ? failed : taken));
    received.add('a', 'b');
    await received.settle();
    for (const [index, seconds] of [1, 4, 16, 64, 256].entries()) {
      await received.pass(seconds * 1000 - 1);
      expect(received.bodies).toHaveLength(index + 1);
      await received.pass(1);
    }
    expect(received.bodies).toEqual(['a', 'a', 'a', 'a', 'a', 'a', 'b']);
    expect(received.queue.totals).toEqual({ sent: 1, lost: 1, why: 'it answered 500' });
  });

  it('go out once where the address is refused', async () => {
    const received = new Received(() => ({ kind: 'refused', why: 'is at a private address' }));
    received.add('a', 'b');
    await received.settle();
    expect(received.bodies).toEqual(['a', 'b']);
    expect(received.queue.totals).toEqual({ sent: 0, lost: 2, why: 'is at a private address' });
  });

  it('have a signature with the token, as Standard Webhooks have it', async () => {
    const received = new Received(() => taken, { key: 'sesame' });
    received.add('{"a":1}');
    await received.settle();
    const { 'webhook-id': id, 'webhook-timestamp': at, 'webhook-signature': signature } = received.headers[0] ?? {};
    expect(at).toBe('1760000000');
    const expected = createHmac('sha256', 'sesame').update(`${id}.1760000000.{"a":1}`).digest('base64');
    expect(signature).toBe(`v1,${expected}`);
  });

  it('end with a receiver that wants no more', async () => {
    const received = new Received(() => ({ kind: 'gone' }));
    received.add('a');
    await received.settle();
    expect(received.gone).toBe(1);
  });

  it('arrive, all thousand of them and in their order, at a receiver that fails at random', async () => {
    let seed = 7;
    let inARow = 0;
    const random = (): number => (seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648);
    const arrived: string[] = [];
    const received: Received = new Received(() => {
      const fails = inARow < 5 && random() % 3 === 0;
      inARow = fails ? inARow + 1 : 0;
      if (!fails) arrived.push(received.bodies.at(-1) ?? '');
      return fails ? failed : taken;
    });
    const expected = Array.from({ length: 1000 }, (_, index) => `n${index}`);
    for (let from = 0; from < 1000; from += 200) {
      received.add(...expected.slice(from, from + 200));
      for (let rounds = 0; !received.queue.isIdle && rounds < 5000; rounds += 1) await received.pass(256_000);
    }
    expect(arrived).toEqual(expected);
    expect(received.queue.totals).toEqual({ sent: 1000, lost: 0, why: null });
  });

  it('number 256 at the most: the oldest that waits gives way, never the one on its way', async () => {
    let answer = (_posted: Posted): void => {};
    const received = new Received(() => new Promise((resolve) => (answer = resolve)));
    received.add('first');
    await received.settle();
    received.add(...Array.from({ length: 300 }, (_, index) => `n${index}`));
    expect(received.queue.totals).toEqual({ sent: 0, lost: 45, why: 'too many waited to be sent' });
    for (let sent = 0; sent < 256; sent += 1) {
      answer(taken);
      await received.settle();
    }
    expect([received.bodies[0], received.bodies[1], received.bodies.at(-1)]).toEqual(['first', 'n45', 'n299']);
  });

  it('hold 32 MiB with those of all others', async () => {
    const budget = new PushBudget();
    const never = (): Promise<Posted> => new Promise(() => {});
    const [one, other] = [new Received(never, {}, budget.enter(local)), new Received(never, {}, budget.enter(local))];
    const megabyte = 'x'.repeat(1024 * 1024);
    one.add(...Array.from({ length: 31 }, () => megabyte));
    other.add(megabyte, megabyte);
    expect([one.queue.totals.lost, other.queue.totals.lost]).toEqual([0, 1]);
    one.queue.end(false);
    other.add(megabyte);
    expect(other.queue.totals.lost).toBe(1);
  });

  it('share 32 requests at a time among all receivers', async () => {
    const budget = new PushBudget();
    let asking = 0;
    const answers: ((posted: Posted) => void)[] = [];
    const answer = (): Promise<Posted> => {
      asking += 1;
      return new Promise((resolve) => void answers.push(resolve));
    };
    const all = Array.from({ length: 40 }, () => new Received(answer, {}, budget.enter(local)));
    for (const each of all) each.add('a');
    await all[0]?.settle();
    expect(asking).toBe(32);
    all[35]?.queue.end(false);
    for (const resolve of answers.splice(0, 4)) resolve(taken);
    await all[0]?.settle();
    expect(asking).toBe(36);
    for (const resolve of answers.splice(0)) resolve(taken);
    await all[0]?.settle();
    expect(asking).toBe(39);
  });

  it('share 8 requests at a time for one client, and those of another go out at once', async () => {
    const { asked, add, answer, settle } = clients();
    add(ann, 40);
    await settle();
    expect(asked).toEqual({ 'token:ann': 8 });
    add(bob, 1);
    await settle();
    expect(asked).toEqual({ 'token:ann': 8, 'token:bob': 1 });
    answer(2);
    await settle();
    expect(asked).toEqual({ 'token:ann': 10, 'token:bob': 1 });
  });

  it('may use all requests for the operator as long as no other client is notified', async () => {
    const { asked, add, answer, settle } = clients();
    add(local, 40);
    await settle();
    expect(asked).toEqual({ local: 32 });
    add(bob, 9);
    await settle();
    answer(1);
    await settle();
    expect(asked).toEqual({ local: 32, 'token:bob': 1 });
    answer(10);
    await settle();
    expect(asked).toEqual({ local: 32, 'token:bob': 8 });
  });

  it('take turns for several clients where all places are taken', async () => {
    const { asked, add, answer, settle } = clients();
    const names = ['a', 'b', 'c', 'd', 'e', 'f'];
    for (const name of names) add({ name, seesAll: false }, 12);
    await settle();
    expect(asked).toEqual({ a: 8, b: 8, c: 8, d: 8 });
    answer(4);
    await settle();
    expect(asked).toEqual({ a: 8, b: 8, c: 8, d: 8, e: 2, f: 2 });
  });

  it('hold 8 MiB for one client, and the 32 of all for the operator alone', () => {
    const never = (): Promise<Posted> => new Promise(() => {});
    const budget = new PushBudget();
    const megabyte = 'x'.repeat(1024 * 1024);
    const many = Array.from({ length: 33 }, () => megabyte);
    const annes = new Received(never, {}, budget.enter(ann));
    annes.add(...many);
    const locals = new Received(never, {}, budget.enter(local));
    locals.add(...many);
    expect([annes.queue.totals.lost, locals.queue.totals.lost]).toEqual([25, 25]);
    annes.queue.end(false);
    locals.add(...many);
    expect(locals.queue.totals.lost).toBe(25 + 9);
  });

  it('wait for nothing at the end, and what has not arrived is counted', async () => {
    const received = new Received(() => failed);
    received.add('a', 'b');
    await received.settle();
    const drained = received.queue.drain();
    await drained;
    expect(received.bodies).toEqual(['a', 'b']);
    expect(received.queue.totals).toEqual({ sent: 0, lost: 2, why: 'it answered 500' });
  });

  it('count where the end does not wait for them', async () => {
    const received = new Received(() => new Promise(() => {}));
    received.add('a', 'b', 'c');
    await received.settle();
    received.queue.end(true);
    expect(received.queue.totals).toEqual({ sent: 0, lost: 3, why: 'the session ended' });
    received.add('d');
    expect(received.queue.totals.lost).toBe(3);
  });
});
