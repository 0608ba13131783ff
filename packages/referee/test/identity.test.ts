import { randomBytes, randomInt } from 'node:crypto';

import { beforeEach, describe, expect, it } from 'vitest';

import { exchange } from '../../kit/test/http/raw-client.ts';
import { identityBytes, TestReferee } from './referee-kit.ts';

interface Question {
  readonly path: '/spawn' | '/register' | '/deregister';
  readonly header: 'x-svc-spawn-credential' | 'x-svc-spawn-approval';
  readonly body: string;
}

const spawn: Question = {
  path: '/spawn',
  header: 'x-svc-spawn-credential',
  body: '{"name":"scout","version":"1.0.0"}',
};
const register: Question = {
  path: '/register',
  header: 'x-svc-spawn-approval',
  body: '{"session_id":"ses_new","name":"scout","version":"1.0.0"}',
};
const deregister: Question = {
  path: '/deregister',
  header: 'x-svc-spawn-credential',
  body: '{"outcome":"complete"}',
};
const questions = [spawn, register, deregister];

function bytesOf({ path, header, body }: Question, token: string | null, connection: string): string {
  return [
    `POST ${path} HTTP/1.1`,
    'Host: localhost',
    `Connection: ${connection}`,
    `Content-Length: ${body.length}`,
    ...(token === null ? [] : [`${header}: ${token}`]),
    '',
    body,
  ].join('\r\n');
}

/** A running lead, an approval of it, and what is left of sessions that ended. */
interface Scene {
  readonly referee: TestReferee;
  readonly lead: Awaited<ReturnType<TestReferee['session']>>;
  readonly approval: string;
  readonly ended: string;
  readonly orphaned: string;
}

async function scene(): Promise<Scene> {
  const referee = await TestReferee.open();
  referee.registry.publish('lead', { spawnAllow: ['scout'] });
  referee.registry.publish('scout');
  const lead = await referee.session('lead');
  const gone = await referee.session('lead');
  const orphaned = await referee.approval(gone.credential, 'scout');
  await referee.end(gone.credential);
  const approval = await referee.approval(lead.credential, 'scout');
  return { referee, lead, approval, ended: gone.credential, orphaned };
}

describe('the identity refusal is the same bytes [D2-AUTH-12] [D2-AUTH-13]', () => {
  let now: Scene;
  let earlier: Scene;
  beforeEach(async () => {
    earlier = await scene();
    now = await scene();
  });
  const answer = async (question: Question, token: string | null): Promise<string> =>
    await exchange({ port: now.referee.port, bytes: [bytesOf(question, token, 'close')] });

  it.each([spawn, deregister])(
    'comes without a credential, at $path [D2-AUTH-09] [D2-ERR-16] [D2-ERR-02]',
    async (question) => {
      expect(await answer(question, null)).toBe(identityBytes);
      expect(await answer(question, '')).toBe(identityBytes);
    },
  );

  it.each(questions)('comes with a malformed token, at $path [D2-AUTH-09] [D2-ERR-11]', async (question) => {
    for (const token of [
      'x',
      'msc1.',
      'msa1.',
      'msc1',
      'Bearer msc1.AAAA',
      `msc1.${'A'.repeat(51)}`,
      'A'.repeat(8_000),
    ]) {
      expect(await answer(question, token)).toBe(identityBytes);
    }
  });

  it.each(questions)(
    'comes with the tokens of an earlier run, at $path [D2-TOKEN-08] [D2-TOKEN-02]',
    async (question) => {
      for (const token of [earlier.lead.credential, earlier.approval]) {
        expect(await answer(question, token)).toBe(identityBytes);
      }
    },
  );

  it.each([spawn, deregister])(
    'comes with the credential of a session that ended, at $path [D2-AUTH-09] [D2-SESS-08]',
    async (question) => {
      expect(await answer(question, now.ended)).toBe(identityBytes);
    },
  );

  it('comes with an approval whose granting session ended [D2-AUTH-10]', async () => {
    expect(await answer(register, now.orphaned)).toBe(identityBytes);
  });

  it('comes with a credential for an approval, or an approval for a credential [D2-AUTH-11]', async () => {
    expect(await answer(register, now.lead.credential)).toBe(identityBytes);
    expect(await answer(spawn, now.approval)).toBe(identityBytes);
    expect(await answer(deregister, now.approval)).toBe(identityBytes);
    const renamed = (token: string, prefix: string): string => `${prefix}${token.slice('msc1.'.length)}`;
    expect(await answer(register, renamed(now.lead.credential, 'msa1.'))).toBe(identityBytes);
    expect(await answer(spawn, renamed(now.approval, 'msc1.'))).toBe(identityBytes);
  });

  it('comes for an id that is taken, with an approval and without [D2-AUTH-10]', async () => {
    const body = (name: string): string => `{"session_id":"${now.lead.id}","name":"${name}","version":"1.0.0"}`;
    expect(await answer({ ...register, body: body('lead') }, null)).toBe(identityBytes);
    expect(await answer({ ...register, body: body('scout') }, now.approval)).toBe(identityBytes);
  });

  it('comes for a child of another session', async () => {
    const body = (child: string): string => `{"outcome":"failed","child":"${child}"}`;
    for (const child of [now.lead.id, 'ses_unknown']) {
      expect(await answer({ ...deregister, body: body(child) }, now.lead.credential)).toBe(identityBytes);
    }
  });
});

describe('ten thousand tokens that nobody minted [D2-TOKEN-07] [D2-AUTH-09] [D2-AUTH-13]', () => {
  const perConnection = 500;
  const keptOpen = identityBytes.replace('Connection: close', 'Connection: keep-alive\r\nKeep-Alive: timeout=5');

  it.each(questions)('all fail at $path, and each gets the same bytes', async (question) => {
    const { referee, lead, approval, ended, orphaned } = await scene();
    const other = await referee.session('lead');
    const minted = [lead.credential, other.credential, approval, ended, orphaned, (await scene()).approval];
    const before = await referee.status(lead.id);
    for (let sent = 0; sent < 10_000; sent += perConnection) {
      const requests = Array.from({ length: perConnection }, (_, index) =>
        bytesOf(question, forged(minted), index === perConnection - 1 ? 'close' : 'keep-alive'),
      );
      const received = await exchange({ port: referee.port, bytes: [requests.join('')] });
      expect(received === keptOpen.repeat(perConnection - 1) + identityBytes).toBe(true);
    }
    expect(await referee.status(lead.id)).toEqual(before);
    expect((await referee.register('ses_new', 'scout', approval)).status).toBe(200);
  });
});

/** A token that is near one of the minted ones, and none of them. */
function forged(minted: readonly string[]): string {
  for (let attempt = 0; attempt < 100; attempt += 1) {
    const forge = forgeries[randomInt(forgeries.length)] ?? shortened;
    const token = forge(any(minted), any(minted));
    if (!minted.includes(token)) return token;
  }
  throw new Error('a hundred forgeries were all minted tokens');
}

type Forgery = (one: string, other: string) => string;

const alphabet = Array.from('ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_');
const prefixLength = 'msc1.'.length;
/** Behind the prefix stands an HMAC-SHA-256 in base64url. */
const macEnd = prefixLength + 43;

const forgeries: readonly Forgery[] = [
  shortened,
  (one) => replaced(one, randomInt(one.length), any(alphabet)),
  // The last character has bits that decode to nothing.
  (one) => replaced(one, one.length - 1, any(alphabet)),
  (one) => `${one}${any([...alphabet, '=', '.', '=='])}`,
  (one) => `${one.slice(0, prefixLength)}=${one.slice(prefixLength)}`,
  (one) => one.replaceAll('-', '+').replaceAll('_', '/'),
  (one, other) => `${other.slice(0, prefixLength)}${one.slice(prefixLength)}`,
  (one) => one.toUpperCase(),
  (one) => `${one},${one}`,
  (one) => `${one.slice(0, prefixLength)}${randomBytes(one.length / 2).toString('base64url')}`,
  flipped,
  // The MAC of one over the words of another.
  (one, other) => one.slice(0, macEnd) + other.slice(macEnd),
  (one) => one.slice(0, macEnd),
  // What is said, changed and spelt as it should be.
  (one) => one.slice(0, macEnd) + reworded(one.slice(macEnd)),
];

function shortened(one: string): string {
  return one.slice(0, randomInt(one.length));
}

function replaced(token: string, index: number, character: string): string {
  return token.slice(0, index) + character + token.slice(index + 1);
}

/** With one bit of the decoded bytes changed. */
function flipped(token: string): string {
  return token.slice(0, prefixLength) + withOneBit(token.slice(prefixLength), (bits) => randomInt(bits));
}

/** With the lowest bit changed of what stands last, which is a number in both kinds. */
function reworded(payload: string): string {
  return withOneBit(payload, (bits) => bits - 8);
}

function withOneBit(encoded: string, choose: (bits: number) => number): string {
  const bytes = Buffer.from(encoded, 'base64url');
  const bit = choose(bytes.length * 8);
  bytes.writeUInt8(bytes.readUInt8(bit >> 3) ^ (1 << (bit & 7)), bit >> 3);
  return bytes.toString('base64url');
}

function any<Item>(items: readonly Item[]): Item {
  const item = items[randomInt(items.length)];
  if (item === undefined) throw new Error('there is nothing to choose from');
  return item;
}
