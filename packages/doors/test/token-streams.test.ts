import { rmSync } from 'node:fs';
import { describe, expect, it } from 'vitest';

import { hangs, says } from '../../../test/support/fake-driver.ts';
import { tokenPrefix } from '../src/callers/door-token.ts';
import { type A2aCapsule, useA2aCapsules, userMessage } from './a2a-capsule.ts';
import { TokenHome } from './token-home.ts';

const open = useA2aCapsules();

const watch = '{"jsonrpc":"2.0","id":1,"method":"stream/watch"}';

async function ask(capsule: A2aCapsule, token: string | null, body = watch, path = '/'): Promise<Response> {
  return await capsule.post(body, token === null ? {} : { authorization: `Bearer ${token}` }, path);
}

/** Whole answers, heads included, except for what belongs to one connection. */
async function answerOf(response: Response): Promise<unknown> {
  return [response.status, [...response.headers].filter(([name]) => name !== 'date'), await response.text()];
}

const unauthorized = [
  401,
  [
    ['connection', 'close'],
    ['content-length', '70'],
    ['content-type', 'application/json'],
    ['www-authenticate', 'Bearer'],
  ],
  '{"error":"unauthorized","message":"A valid bearer token is required."}',
];

describe('an invalid token', () => {
  it('gets the same whether it is unknown, mutated, expired, removed, for another capsule or missing', async () => {
    const home = new TokenHome();
    const good = await home.add('good');
    const gone = await home.add('gone');
    const late = await home.add('late', { forMs: 10 });
    const elsewhere = await home.add('elsewhere', { capsule: 'other' });
    const here = await home.add('here', { capsule: 'demo' });
    await home.remove('gone');
    home.now += 10;
    const capsule = await open({ callers: home.callers() });
    const mutated = `${good.slice(0, -1)}${good.endsWith('A') ? 'B' : 'A'}`;
    const answers = [];
    for (const token of [null, gone, late, elsewhere, mutated, tokenPrefix, 'x', good.toUpperCase(), ` ${good} x`]) {
      answers.push(await answerOf(await ask(capsule, token, '{"jsonrpc":"2.0","id":1,"method":"tasks/get"}')));
    }
    for (const answer of answers) expect(answer).toEqual(unauthorized);
    for (const token of [good, here, 'operator-token']) {
      expect((await ask(capsule, token, '{"jsonrpc":"2.0","id":1,"method":"tasks/get"}')).status).toBe(200);
    }
  });

  it('opens nothing among 1,000 mutations at a socket', async () => {
    const home = new TokenHome();
    const good = await home.add('good');
    const capsule = await open({ callers: home.callers() });
    const statuses = new Map<number, number>();
    for (let round = 0; round < 1000; round += 1) {
      const at = round % good.length;
      const other = String.fromCharCode(33 + ((good.charCodeAt(at) - 33 + 1 + Math.floor(round / good.length)) % 94));
      const { status, body } = await ask(capsule, good.slice(0, at) + other + good.slice(at + 1), '{}');
      await body?.cancel();
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
    }
    expect([...statuses]).toEqual([[401, 1000]]);
    // A thousand requests one after another.
  }, 120_000);
});

describe('a listener without a token of its own', () => {
  it('lets everybody in as before, and holds those who show a token to it once there are any', async () => {
    const home = new TokenHome();
    const capsule = await open({ callers: home.callers({ listenerToken: null }) });
    const body = '{"jsonrpc":"2.0","id":1,"method":"session/stop"}';
    expect((await ask(capsule, null, body)).status).toBe(200);
    expect((await ask(capsule, 'whatever', body)).status).toBe(200);
    const reads = await home.add('reads', { scopes: ['read'] });
    const statuses = [];
    for (const token of [null, 'whatever', reads]) statuses.push((await ask(capsule, token, body)).status);
    expect(statuses).toEqual([200, 401, 403]);
    // The file is gone: nobody is more than they were.
    rmSync(home.place.path);
    expect((await ask(capsule, reads, body)).status).toBe(401);
  });

  it('asks everybody for one where it is guarded', async () => {
    const home = new TokenHome();
    const sends = await home.add('sends', { scopes: ['stop'] });
    const capsule = await open({ callers: home.callers({ listenerToken: null, isGuarded: true }) });
    const body = '{"jsonrpc":"2.0","id":1,"method":"session/stop"}';
    expect([(await ask(capsule, null, body)).status, (await ask(capsule, sends, body)).status]).toEqual([401, 200]);
  });
});

describe('the end of a token', () => {
  /** Streams of both protocols, each with its first bytes read. */
  async function streams(capsule: A2aCapsule, token: string): Promise<ReadableStreamDefaultReader<Uint8Array>[]> {
    const calls = [
      [watch, '/'],
      [
        '{"jsonrpc":"2.0","id":1,"method":"message/stream","params":{"message":{"messageId":"s","role":"user","parts":[{"text":"x"}]}}}',
        '/',
      ],
      [JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'SendStreamingMessage', params: userMessage('y') }), '/a2a'],
    ] as const;
    const readers = [];
    for (const [body, path] of calls) {
      const response = await ask(capsule, token, body, path);
      expect([path, response.status]).toEqual([path, 200]);
      const reader = response.body!.getReader();
      await reader.read();
      readers.push(reader);
    }
    return readers;
  }

  /** Resolves once it brings no more, well or not. */
  async function ended(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<void> {
    try {
      while (!(await reader.read()).done);
    } catch {
      // The connection was cut.
    }
  }

  it.each(['removal', 'expiry', 'a file that cannot be trusted'])(
    'by %s closes its streams within 5 seconds, and no others',
    async (how) => {
      const home = new TokenHome();
      const scopes = ['read', 'send'] as const;
      const [ann, bob] = [await home.add('ann', { scopes, forMs: 1000 }), await home.add('bob', { scopes })];
      const capsule = await open({ turns: [hangs, says('ok')], callers: home.callers() });
      capsule.run();
      const all = await streams(capsule, ann);
      const other = how.startsWith('a file') ? null : (await ask(capsule, bob)).body!.getReader();
      if (how === 'removal') await home.remove('ann');
      else if (how === 'expiry') home.now += 1000;
      else home.write('{"version":1,"tokens":[]}', 0o644);
      expect((await ask(capsule, ann)).status).toBe(401);
      await Promise.all(all.map(ended));
      expect(home.maxWaitMs).toBeLessThan(5000);
      if (other !== null) {
        expect((await other.read()).done).toBe(false);
        expect((await ask(capsule, bob, '{"jsonrpc":"2.0","id":1,"method":"tasks/get"}')).status).toBe(200);
        await other.cancel();
      } else {
        expect(home.problems.map(({ code }) => code)).toEqual(['E-RUN-150']);
      }
    },
  );

  it('holds back the answer of a call that waits', async () => {
    const home = new TokenHome();
    const ann = await home.add('ann', { scopes: ['send'] });
    const capsule = await open({ turns: [hangs], callers: home.callers() });
    capsule.run();
    const waiting = ask(
      capsule,
      ann,
      JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'SendMessage', params: userMessage('y') }),
      '/a2a',
    );
    await expect.poll(() => capsule.fixture.traced.some((line) => line.event_type === 'task_start')).toBe(true);
    await home.remove('ann');
    await capsule.fixture.session.board.cancelAll();
    const response = await waiting;
    expect([response.status, await response.text()]).toEqual([401, unauthorized[2]]);
  });
});

describe('a reader of live events', () => {
  it('counts as somebody who can be asked for as long as it reads, by the key of the session or a token that may answer, and by nothing else', async () => {
    const home = new TokenHome();
    const reads = await home.add('reads', { scopes: ['read', 'send', 'stop'] });
    const answers = await home.add('answers', { scopes: ['read', 'answer'] });
    const capsule = await open({ callers: home.callers({ listenerToken: null, personKey: 'key-of-the-session' }) });
    const { events } = capsule.fixture.session;
    const attended = (): readonly boolean[] => [events.isAttendedBy('terminal'), events.isAttendedBy('door')];
    const seen: (readonly boolean[])[] = [];
    for (const [token, isOpted] of [
      [null, true],
      [reads, true],
      [answers, false],
      [answers, true],
      ['key-of-the-session', false],
      ['key-of-the-session', true],
    ] as const) {
      const leave = new AbortController();
      const response = await fetch(`http://127.0.0.1:${capsule.port}/`, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          ...(isOpted ? { 'svc-events': '1' } : {}),
          ...(token === null ? {} : { authorization: `Bearer ${token}` }),
        },
        body: watch,
        signal: leave.signal,
      });
      expect(response.status).toBe(200);
      await response.body?.getReader().read();
      seen.push(attended());
      leave.abort();
      await expect.poll(attended).toEqual([false, false]);
    }
    const nobody = [false, false];
    expect(seen).toEqual([nobody, nobody, nobody, [false, true], nobody, [true, false]]);
  });
});
