import { array, assert, constantFrom, oneof, property, record, string, uint8Array } from 'fast-check';
import { describe, expect, it } from 'vitest';

import { mintPeerHandle } from '@svc/protocol/peer-handle.ts';
import { handleId, redactHandles, findHandles } from './handle-id.ts';

const payload =
  'eyJ2IjoxLCJpc3MiOiJzZXNfMDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWYiLCJwIjoicmVwb3J0cy9xMy5jc3YiLCJleHAiOjE3MDAwMDAwMDAwMDAsIm4iOiIwMDAxMDIwMzA0MDUwNjA3MDgwOTBhMGIwYzBkMGUwZiJ9';
const mac = 'pTDJk5BE2O9PVek29X10kprx7horPtESn12_-i8DyjQ';
const token = `mh1.${payload}.${mac}`;
const shown = '<handle:39158f9a8a7c005d>';

const spellings: Readonly<Record<string, (text: string) => string>> = {
  plain: (text) => text,
  'with escaped dots': (text) => text.replaceAll('.', '%2e'),
  escaped: (text) => text.replaceAll(/./g, (each) => `%${each.charCodeAt(0).toString(16)}`),
  'escaped in capitals': (text) => text.replaceAll(/./g, (each) => `%${each.charCodeAt(0).toString(16).toUpperCase()}`),
};
const escaped = spellings['escaped'] ?? String;

/** What a reader of the text could make of it. */
function unescaped(text: string): string {
  return text.replaceAll(/%([0-9A-Fa-f]{2})/g, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 16)));
}

/** Eight characters of a payload or a MAC that the text still has. */
function leakOf(part: string, text: string): string | undefined {
  for (let start = 0; start + 8 <= part.length; start += 1) {
    const piece = part.slice(start, start + 8);
    if (text.includes(piece)) return piece;
  }
  return undefined;
}

describe('a handle behind the beginning of another', () => {
  it.each(['mh1.', 'mh1.mh1.', 'mh1.a.', 'mh1.a.b', 'mh1.a', `mh1.${'a'.repeat(50)}`, 'mh1.mh1.mh1.a.b', 'mh1.%61%2e'])(
    'leaves nothing, plain or escaped: %j [D3-TRACE-07] [D3-HANDLE-10]',
    (before) => {
      for (const spell of Object.values(spellings)) {
        for (const text of [before + spell(token), spell(before) + spell(token), spell(before) + token]) {
          const redacted = redactHandles(`${text} after`);
          expect(redacted).toContain(shown);
          expect(redacted).toMatch(/ after$/);
          expect([leakOf(payload, unescaped(redacted)), leakOf(mac, unescaped(redacted))]).toEqual([
            undefined,
            undefined,
          ]);
        }
      }
    },
  );

  it.each([
    [`mh1.a.b${token}`, `mh1.a.b${shown}`],
    [`${token}${token}`, shown + shown],
    [`${token}${escaped(token)}${token}`, shown + shown + shown],
    [`mh1. ${token}`, `mh1. ${shown}`],
    [`mh1.%zz${token}`, `mh1.%zz${shown}`],
  ])('keeps its id: %s', (text, redacted) => {
    expect(redactHandles(text)).toBe(redacted);
  });

  it('stays covered where a MAC reads as the beginning of another', () => {
    const odd = `mh1.${payload}.${mac.slice(0, 40)}mh1`;
    expect(redactHandles(`${odd}.x.y`)).toContain(`<handle:${handleId(odd)}>`);
    expect(leakOf(mac, redactHandles(`${odd}.x.y`))).toBeUndefined();
  });
});

const hostile = oneof(
  constantFrom('mh1.', 'mh1', 'mh', 'm', '.', 'a', 'a.b', '%', '%2', '%2e', '%2E', '%6', '%6d', '%6dh1.', '%6Dh%31%2e'),
  constantFrom(
    'mh1.a.b',
    'mh1.a',
    'mh1.mh1.',
    '%256d',
    ' ',
    '"',
    '/',
    'mh1..',
    'é',
    '\uD800',
    '<handle:',
    'x'.repeat(50),
  ),
  string({ maxLength: 6 }),
);

const minted = record({
  key: uint8Array({ minLength: 32, maxLength: 32 }),
  nonce: uint8Array({ minLength: 16, maxLength: 16 }),
  path: string({ minLength: 1, maxLength: 20 }),
}).map(({ key, nonce, path }) =>
  mintPeerHandle({ key, nonce, path, audience: 'reader@localhost:4100', issuer: 'ses_1', expiresAtMs: 1 }),
);

const placed = record({
  before: array(hostile, { maxLength: 6 }),
  minted,
  spell: constantFrom(...Object.values(spellings)),
});

describe('any text', () => {
  it('holds nothing of the handles that stand in it, wherever they stand [D3-TRACE-07] [D3-HANDLE-10]', () => {
    const hides = property(array(placed, { minLength: 1, maxLength: 4 }), array(hostile), (places, after) => {
      const text = places.map(({ before, minted: each, spell }) => before.join('') + spell(each)).join('');
      const redacted = redactHandles(text + after.join(''));
      for (const { minted: each } of places) {
        expect(redacted).toContain(`<handle:${handleId(each)}>`);
        for (const part of each.split('.').slice(1)) expect(leakOf(part, unescaped(redacted))).toBeUndefined();
      }
    });
    assert(hides, { numRuns: 1000 });
  });

  it('gets read at most three times over, however many beginnings it has', () => {
    const read = (text: string): number => [...findHandles(text)].reduce((sum, { start, end }) => sum + end - start, 0);
    const isBounded = property(array(hostile, { maxLength: 40 }), (parts) => {
      const text = parts.join('');
      expect(read(text)).toBeLessThanOrEqual(3 * text.length);
    });
    assert(isBounded, { numRuns: 1000 });
  });

  it('gives up a payload that begins as JSON and is long enough, and nothing that only begins like one', () => {
    const begun = `mh1.e${'a'.repeat(50)}`;
    for (const [text, count] of [
      ['mh1.', 0],
      ['mh1.a.b', 0],
      [`mh1.e${'a'.repeat(49)}.b`, 0],
      [`mh1.${'a'.repeat(96)}.b`, 0],
      [`${begun}.b`, 1],
      [`${begun}mh1.`, 1],
    ] as const) {
      const found = [...findHandles(text.repeat(1000))].length;
      expect([text, found]).toEqual([text, text.endsWith('mh1.') && count === 1 ? 999 : count * 1000]);
    }
  });
});
