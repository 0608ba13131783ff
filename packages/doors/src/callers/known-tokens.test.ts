import { mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';

import { systemClock } from '@svc/kit/system-clock.ts';
import { type DoorToken, encodeTokens, hashOfToken, mintToken } from './door-token.ts';
import { KnownTokens } from './known-tokens.ts';
import { tokenPlace } from './token-place.ts';
import { eachFolder } from '../../../../test/support/each-folder.ts';

let home: string;
/** Time stands still unless a test moves it. */
let nowMs: number;
let waiting: { readonly ms: number; readonly callback: () => void }[];
const codes: string[] = [];

eachFolder('svc-known-tokens-', (made) => {
  home = made;
  mkdirSync(join(home, '.svc'), { mode: 0o700 });
  nowMs = 1000;
  waiting = [];
  codes.length = 0;
});

function known(): KnownTokens {
  return new KnownTokens({
    capsule: 'demo',
    place: tokenPlace(home, process.getuid?.()),
    clock: {
      now: () => nowMs,
      monotonicMs: () => nowMs,
      after: (ms, callback) => {
        waiting.push({ ms, callback });
        return () => {};
      },
    },
    onToken: () => {},
    onProblem: ({ code }) => codes.push(code),
  });
}

function entry(name: string, token: string, more: Partial<DoorToken> = {}): DoorToken {
  return {
    name,
    sha256: hashOfToken(token),
    scopes: ['read'],
    capsule: null,
    created_at_ms: 0,
    expires_at_ms: 10_000,
    ...more,
  };
}

function put(tokens: readonly DoorToken[]): void {
  const path = join(home, '.svc', 'door-tokens.json');
  writeFileSync(`${path}.new`, encodeTokens(tokens), { mode: 0o600 });
  renameSync(`${path}.new`, path);
}

it('KnownTokens lets in none of 10,000 forged and mutated tokens, and each of those that were made', async () => {
  const tokens = Array.from({ length: 16 }, () => mintToken(systemClock));
  put(tokens.map((token, at) => entry(`t${at}`, token)));
  const all = known();
  await all.look();
  expect(tokens.map((token) => all.find(Buffer.from(token))?.name)).toEqual(tokens.map((_, at) => `token:t${at}`));
  let accepted = 0;
  for (let round = 0; round < 10_000; round += 1) {
    const token = tokens[round % tokens.length] ?? '';
    const at = (round * 7) % token.length;
    const forged = [
      mintToken(systemClock),
      token.slice(0, at) + String.fromCharCode(33 + (round % 94)) + token.slice(at + 1),
      token.slice(0, at),
      token + token.charAt(at),
      token.slice(0, at) + token.slice(at + 1),
      hashOfToken(token),
    ][round % 6];
    if (forged !== token && all.find(Buffer.from(forged ?? '')) !== null) accepted += 1;
  }
  expect(accepted).toBe(0);
});

it('mintToken makes a new token of 256 bits each time, which says what it is', () => {
  const made = new Set(Array.from({ length: 1000 }, () => mintToken(systemClock)));
  expect(made.size).toBe(1000);
  for (const token of made) expect(token).toMatch(/^svc_door_[A-Za-z0-9_-]{43}$/);
});

it('KnownTokens finds no token that has expired, or is for another capsule', async () => {
  put([
    entry('late', 'l', { expires_at_ms: 1000 }),
    entry('other', 'o', { capsule: 'other' }),
    entry('here', 'h', { capsule: 'demo' }),
  ]);
  const all = known();
  await all.look();
  expect(['l', 'o', 'h'].map((token) => all.find(Buffer.from(token))?.name ?? null)).toEqual([
    null,
    null,
    'token:here',
  ]);
});

it('KnownTokens reads a file that changes all the time once in 50 ms, and lets nobody in by what was removed meanwhile', async () => {
  put([entry('a', 'a'), entry('b', 'b')]);
  const all = known();
  expect(all.look()).toBeUndefined();
  put([entry('b', 'b')]);
  nowMs += 10;
  const looking = all.look();
  expect(all.look()).toBe(looking);
  expect(waiting.map(({ ms }) => ms)).toEqual([40]);
  nowMs += 40;
  waiting[0]?.callback();
  await looking;
  expect([all.find(Buffer.from('a')), all.find(Buffer.from('b'))?.name]).toEqual([null, 'token:b']);
});

it('KnownTokens keeps the principal of a token that stays, and drops it with the token or with what it may', async () => {
  put([entry('a', 'a'), entry('b', 'b')]);
  const all = known();
  await all.look();
  const [a, b] = [all.find(Buffer.from('a')), all.find(Buffer.from('b'))];
  nowMs += 50;
  put([entry('a', 'a'), entry('b', 'b', { scopes: ['send'] })]);
  await all.look();
  expect([a !== null && all.holds(a), b !== null && all.holds(b)]).toEqual([true, false]);
  nowMs += 9000;
  expect(a !== null && all.holds(a)).toBe(false);
});

it('KnownTokens reports a file that cannot be used once, and lets nobody in by it', async () => {
  put([entry('a', 'a')]);
  const all = known();
  await all.look();
  nowMs += 50;
  writeFileSync(join(home, '.svc', 'door-tokens.json'), '{', { mode: 0o600 });
  await all.look();
  await all.look();
  expect([codes, all.find(Buffer.from('a')), all.hasFile]).toEqual([['E-RUN-151'], null, true]);
});
