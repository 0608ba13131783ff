import { createHash } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { assert, constantFrom, integer, property, tuple, uniqueArray } from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { PeerExport, reader, redeem } from './peer-export.ts';
import { ask, exchange, parseResponse } from '../../../kit/test/http/raw-client.ts';

const notValid = '403 handle_not_valid';
const malformed = '400 malformed_handle';
const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';

let peers: PeerExport;
let port = 0;

beforeEach(async () => {
  peers = new PeerExport();
  mkdirSync(join(peers.out, 'reports'));
  writeFileSync(join(peers.out, 'reports', 'q3.csv'), 'shared');
  writeFileSync(join(peers.out, 'other.txt'), 'never shared with this reader');
  port = await peers.open();
});

afterEach(() => peers.close());

/** What each of many requests is answered, without the date; the answers to one connection's requests come one after another. */
async function answers(
  tokens: readonly string[],
  audience: readonly string[] = [reader],
): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  for (let from = 0; from < tokens.length; from += 100) {
    const batch = tokens.slice(from, from + 100);
    const headers = ['Host: localhost', ...audience.map((value) => `x-svc-audience: ${value}`), '', ''].join('\r\n');
    const requests = batch.map((token) => `GET /resources/peer/${token} HTTP/1.1\r\n${headers}`);
    const last = 'GET /resources/peer HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n';
    const text = await exchange({ port, bytes: [[...requests, last].join('')] });
    const responses = text.replaceAll(/\r\nDate: [^\r]*/g, '').split(/(?=HTTP\/1\.1 \d)/);
    expect(responses).toHaveLength(batch.length + 1);
    for (const [index, token] of batch.entries()) found.set(token, responses[index] ?? '');
  }
  return found;
}

/** The refusals of the tokens, each of them counted; the same refusal is the same to the byte. */
async function refusals(tokens: readonly string[], audience?: readonly string[]): Promise<Record<string, number>> {
  const texts = new Map<string, string>();
  const counted: Record<string, number> = {};
  for (const [token, text] of await answers(tokens, audience)) {
    const { status, body } = parseResponse(text);
    const { error } = JSON.parse(body) as { error: string };
    const refusal = `${status} ${error}`;
    expect([token, text]).toEqual([token, texts.get(refusal) ?? text]);
    texts.set(refusal, text);
    counted[refusal] = (counted[refusal] ?? 0) + 1;
  }
  return counted;
}

function partsOf(token: string): { payload: string; mac: string } {
  const [, payload = '', mac = ''] = token.split('.');
  return { payload, mac };
}

/** Every way to turn over one bit. */
function flips(bytes: Buffer): Buffer[] {
  return Array.from({ length: bytes.length * 8 }, (_, bit) => {
    const flipped = Buffer.from(bytes);
    flipped[bit >> 3] = (flipped[bit >> 3] ?? 0) ^ (1 << (bit & 7));
    return flipped;
  });
}

/** Whether a text may stand in a request target, and all of it belongs to the path. */
function isSendable(token: string): boolean {
  return /^[!-~]+$/.test(token) && !/[#?]/.test(token);
}

describe('10,000 handles that nobody minted', () => {
  it(
    'all fail, and those that reach the MAC get the same bytes [D3-ERR-14] [D3-ERR-16] [D3-HANDLE-15] [D3-PEER-08] [D3-PEER-09] [D3-AUTH-07]',
    { timeout: 120_000 },
    async () => {
      const genuine = [peers.mint('reports/q3.csv'), peers.mint('none.txt'), peers.mint('../outside')];
      const mutated = new Set(genuine.flatMap((token) => [...mutationsOf(token)]));
      for (const token of genuine) mutated.delete(token);
      const sendable = [...mutated].filter(isSendable);
      const others = [...mutated].filter((token) => !isSendable(token));
      expect(mutated.size).toBeGreaterThan(10_000);
      const counted = await refusals(sendable);
      expect(Object.keys(counted).sort()).toEqual([malformed, notValid]);
      expect(counted[notValid]).toBeGreaterThan(4000);

      // The same once the genuine ones have expired: whether they have is not looked at before the MAC.
      peers.now += 3_600_000;
      expect(await refusals(sendable)).toEqual(counted);
      expect(JSON.stringify(peers.workdir.events)).not.toContain('mh1.');
      expect(new Set(peers.workdir.events.map(({ outcome }) => outcome))).toEqual(
        new Set(['malformed_handle', 'handle_not_valid', 'not_found']),
      );

      // What is no request target at all, or has a query or a fragment cut off.
      const statuses = new Set<number>();
      for (const token of others) statuses.add((await redeem(port, token)).status);
      expect(statuses).toEqual(new Set([400, 403]));
    },
  );

  function* mutationsOf(token: string): Generator<string> {
    const { payload, mac } = partsOf(token);
    const payloadBytes = Buffer.from(payload, 'base64url');
    for (const flipped of flips(Buffer.from(token, 'latin1'))) yield flipped.toString('latin1');
    for (const flipped of flips(payloadBytes)) yield `mh1.${flipped.toString('base64url')}.${mac}`;
    for (const flipped of flips(Buffer.from(mac, 'base64url'))) yield `mh1.${payload}.${flipped.toString('base64url')}`;
    for (let length = 1; length < token.length; length += 1) {
      yield token.slice(0, length);
      yield token.slice(length);
      yield token.slice(0, length - 1) + token.slice(length);
      yield token.slice(0, length) + token.slice(length - 1);
    }
    for (const character of `${alphabet}.=~+/%`) {
      yield token + character;
      yield character + token;
      yield `mh1.${payload}${character}.${mac}`;
      yield `mh1.${character}${payload}.${mac}`;
      yield `mh1.${payload}.${character}${mac}`;
    }
  }
});

describe('a handle', () => {
  it('fails with any other spelling of its MAC', async () => {
    const { payload, mac } = partsOf(peers.mint('reports/q3.csv'));
    const bytes = Buffer.from(mac, 'base64url');
    const last = alphabet.indexOf(mac.at(-1) ?? '');
    // The last of 43 characters has two bits that decode to nothing.
    const sameBytes = [1, 2, 3].map((spare) => mac.slice(0, -1) + (alphabet[last ^ spare] ?? ''));
    for (const spelling of sameBytes) expect(Buffer.from(spelling, 'base64url').equals(bytes)).toBe(true);
    const spellings = [
      ...sameBytes,
      `${mac}=`,
      `${mac}==`,
      `${bytes.toString('base64')}%3D`,
      mac.replace(/^./, (character) => `%${character.charCodeAt(0).toString(16)}`),
      bytes.toString('hex'),
      bytes.toString('hex').toUpperCase(),
      mac.toLowerCase(),
      mac.toUpperCase(),
      '',
      '0',
      'A'.repeat(43),
      'A'.repeat(5000),
      createHash('sha256').update(payload).digest('base64url'),
    ];
    const tokens = spellings.map((spelling) => `mh1.${payload}.${spelling}`);
    expect(await refusals(tokens)).toEqual({ [notValid]: tokens.length });
  });

  it('fails with any other spelling of its payload', async () => {
    const { payload, mac } = partsOf(peers.mint('reports/q3.csv'));
    const text = Buffer.from(payload, 'base64url').toString('utf8');
    const { v, iss, p, exp, n } = JSON.parse(text) as Record<string, unknown>;
    const readable = [
      ` ${text}`,
      `${text}\n`,
      text.replaceAll(',', ', '),
      JSON.stringify({ n, exp, p, iss, v }),
      JSON.stringify({ v, iss, p, exp, n, more: 1 }),
      JSON.stringify({ v, iss, p: 'other.txt', exp, n }),
      JSON.stringify({ v, iss, p, exp: 9_999_999_999_999, n }),
      JSON.stringify({ v, iss: 'ses_other', p, exp, n }),
      JSON.stringify({ v, iss, p, exp, n: '00' }),
      JSON.stringify({ v }),
      text.replace('"v":1', '"v":1.0'),
      text.replace('"v":1', '"v":1e0'),
      text.replace('"v":1', '"v":2,"v":1'),
      text.replace('"v":1', String.raw`"\u0076":1`),
      text.replace('/', String.raw`\/`),
    ].map((spelling) => `mh1.${Buffer.from(spelling).toString('base64url')}.${mac}`);
    expect(new Set(readable).size).toBe(15);
    expect(await refusals(readable)).toEqual({ [notValid]: readable.length });

    const unreadable = [
      `${payload}=`,
      `${payload}==`,
      `%${payload}`,
      `${payload}A`,
      payload.slice(0, -1),
      '',
      ...[
        'null',
        '1',
        '"v"',
        '[]',
        '{}',
        '{"v":2}',
        '{"v":"1"}',
        '{"v":true}',
        '{"v":0}',
        '{"v":1',
        '{"V":1}',
        'v=1',
      ].map((spelling) => Buffer.from(spelling).toString('base64url')),
      Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x7d]).toString('base64url'),
      `${Buffer.from(text).toString('base64url')}.x`,
    ].map((spelling) => `mh1.${spelling}.${mac}`);
    const counted = await refusals(unreadable);
    expect(counted).toEqual({ [malformed]: unreadable.length });
  });

  it('made of parts of others, for the same file and for another', async () => {
    const tokens = [
      peers.mint('reports/q3.csv'),
      peers.mint('reports/q3.csv'),
      peers.mint('other.txt'),
      peers.mint('other.txt', { audience: 'other@localhost:4100' }),
      peers.mint('reports/q3.csv', { ttlMs: 1 }),
    ].map(partsOf);
    const swapped = tokens.flatMap(({ payload }, one) =>
      tokens.flatMap(({ mac }, other) => (one === other ? [] : [`mh1.${payload}.${mac}`])),
    );
    expect(await refusals(swapped)).toEqual({ [notValid]: 20 });
  });

  it('fails when an earlier session, a later one or nobody minted it [D3-HANDLE-13] [D3-HANDLE-14]', async () => {
    const mint = (session: ReturnType<typeof peers.session>): string =>
      session.mint({ path: 'reports/q3.csv', audience: reader, ttlMs: 60_000 }).handle;
    const ended = peers.session();
    const handles = Array.from({ length: 50 }, () => mint(ended));
    ended.close();
    handles.push(...Array.from({ length: 50 }, () => mint(peers.session())));
    expect(await refusals(handles)).toEqual({ [notValid]: 100 });
  });

  it('fails for any other audience, in any other case of letters, and for two at once [D3-HANDLE-15] [D3-PEER-01]', async () => {
    const token = peers.mint('reports/q3.csv');
    const [name, host] = ['reader', 'localhost:4100'];
    const upper = Array.from(
      reader,
      (letter, index) => reader.slice(0, index) + letter.toUpperCase() + reader.slice(index + 1),
    );
    const wrong = [
      ...upper.filter((audience) => audience !== reader),
      reader.toUpperCase(),
      `${name}@localhost`,
      `${name}@localhost.:4100`,
      `${name}@localhost:04100`,
      `${name}@localhost:41000`,
      `${name}@127.0.0.1:4100`,
      `other@${host}`,
      `@${host}`,
      name,
      host,
      `${name}@@${host}`,
      `${name} @${host}`,
      `${reader},`,
      `,${reader}`,
      `${reader}, ${reader}`,
      `${reader};`,
      `${reader}\u00a0`,
      `"${reader}"`,
      `http://${host}`,
      'null',
      '*',
      'x'.repeat(8000),
    ];
    const texts = new Set<string>();
    for (const audience of [
      ...wrong.map((one) => [one]),
      [reader, reader],
      [reader, 'other@localhost:4100'],
      ['', reader],
    ]) {
      const found = await answers([token], audience);
      expect([audience, parseResponse(found.get(token) ?? '').status]).toEqual([audience, 403]);
      texts.add(found.get(token) ?? '');
    }
    // A changed payload, another session and a wrong audience get the same answer.
    const { payload, mac } = partsOf(token);
    const tampered = `mh1.${payload}.${mac.toLowerCase()}`;
    texts.add((await answers([tampered])).get(tampered) ?? '');
    expect([...texts].map((text) => parseResponse(text).body)).toEqual([
      '{"error":"handle_not_valid","message":"The handle is not valid here for this audience."}',
    ]);
    expect((await redeem(port, token)).body).toBe('shared');
  });
});

it('an audience that is missing or empty is asked for before the MAC is looked at, and after the form is [D3-ERR-13] [D3-PEER-08]', async () => {
  const token = peers.mint('reports/q3.csv');
  const tampered = `${token}A`;
  for (const audience of [[], [''], ['   ']]) {
    expect(await refusals([token, tampered], audience)).toEqual({ '400 missing_audience': 2 });
    expect(await refusals(['mh1.e30.x', 'mh2', `${token}.x`], audience)).toEqual({ [malformed]: 3 });
  }
});

it('any change of any characters of a handle is refused', { timeout: 120_000 }, async () => {
  const token = peers.mint('reports/q3.csv');
  const tokens = new Set<string>();
  const change = tuple(integer({ min: 0, max: token.length - 1 }), constantFrom(...Array.from(`${alphabet}.`)));
  const collects = property(uniqueArray(change, { minLength: 1, maxLength: 8 }), (changes) => {
    const characters = Array.from(token);
    for (const [index, character] of changes) characters[index] = character;
    tokens.add(characters.join(''));
  });
  assert(collects, { numRuns: 2000 });
  tokens.delete(token);
  const counted = await refusals([...tokens]);
  expect(Object.keys(counted).sort()).toEqual([malformed, notValid]);
  expect(
    (await ask(port, `GET /resources/peer/${token} HTTP/1.1`, { headers: [`X-SVC-Audience: ${reader}`] })).body,
  ).toBe('shared');
});
