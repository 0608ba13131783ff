import { describe, expect, it } from 'vitest';

import { mintPeerHandle, parsePeerHandle, verifyPeerHandle } from './peer-handle.ts';

const key = Uint8Array.from({ length: 32 }, (_, index) => index);
const audience = 'reader@localhost:4100';
const facts = {
  issuer: 'ses_0123456789abcdef0123456789abcdef',
  path: 'reports/q3.csv',
  expiresAtMs: 1_700_000_000_000,
  nonce: Uint8Array.from({ length: 16 }, (_, index) => index),
};
const payloadText =
  'eyJ2IjoxLCJpc3MiOiJzZXNfMDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWYiLCJwIjoicmVwb3J0cy9xMy5jc3YiLCJleHAiOjE3MDAwMDAwMDAwMDAsIm4iOiIwMDAxMDIwMzA0MDUwNjA3MDgwOTBhMGIwYzBkMGUwZiJ9';
const macText = 'pTDJk5BE2O9PVek29X10kprx7horPtESn12_-i8DyjQ';
const token = `mh1.${payloadText}.${macText}`;

/** A token around a payload that was never minted. */
function around(payload: string | Uint8Array, mac = macText): string {
  return `mh1.${Buffer.from(payload).toString('base64url')}.${mac}`;
}

function verified(text: string, binding = { key, audience }): unknown {
  const handle = parsePeerHandle(text);
  return handle === undefined ? 'malformed' : verifyPeerHandle(handle, binding);
}

describe('a minted handle', () => {
  it('has these bytes', () => {
    expect(mintPeerHandle({ key, audience, ...facts })).toBe(token);
  });

  it('shows its payload to everyone, in this order, and nothing of its audience', () => {
    const [, payload = ''] = mintPeerHandle({ key, audience, ...facts }).split('.');
    expect(Buffer.from(payload, 'base64url').toString()).toBe(
      '{"v":1,"iss":"ses_0123456789abcdef0123456789abcdef","p":"reports/q3.csv","exp":1700000000000,"n":"000102030405060708090a0b0c0d0e0f"}',
    );
  });

  it('verifies for its key and audience alone [D3-AUTH-07]', () => {
    expect(verified(token)).toEqual({
      v: 1,
      iss: 'ses_0123456789abcdef0123456789abcdef',
      p: 'reports/q3.csv',
      exp: 1_700_000_000_000,
      n: '000102030405060708090a0b0c0d0e0f',
    });
    expect(verified(token, { key, audience: 'Reader@localhost:4100' })).toBeUndefined();
    expect(verified(token, { key, audience: 'reader@localhost:4101' })).toBeUndefined();
    expect(verified(token, { key, audience: '' })).toBeUndefined();
    expect(verified(token, { key: new Uint8Array(32), audience })).toBeUndefined();
  });
});

describe('the form of a token', () => {
  it.each([
    '',
    'mh1',
    'mh1.',
    'mh1..',
    `mh1.${payloadText}`,
    `mh1..${macText}`,
    `mh1.${payloadText}.${macText}.`,
    `mh1.${payloadText}.${macText}.x`,
    `mh2.${payloadText}.${macText}`,
    `MH1.${payloadText}.${macText}`,
    ` ${token}`,
    `.mh1.${payloadText}.${macText}`,
    `mh1.${payloadText}=.${macText}`,
    `mh1.${payloadText}A.${macText}`,
    `mh1.${payloadText.replace('J', '/')}.${macText}`,
    `mh1%2E${payloadText}.${macText}`,
  ])('excludes %j [D3-ERR-12]', (text) => {
    expect(parsePeerHandle(text)).toBeUndefined();
  });

  it.each([
    'x',
    '',
    'null',
    '1',
    '"v"',
    '[]',
    '[{"v":1}]',
    '{}',
    '{"v":2}',
    '{"v":"1"}',
    '{"v":true}',
    '{"v":[1]}',
    '{"v":null}',
    '{"V":1}',
    '{"__proto__":{"v":1}}',
    '{"v":1,"v":2}',
    '{"v":1',
    '{"v":1}}',
    '\u{feff}{"v":1}',
    '['.repeat(10_000),
  ])('excludes a payload %j [D3-ERR-12] [D3-VER-03]', (payload) => {
    expect(parsePeerHandle(around(payload))).toBeUndefined();
  });

  it('a payload that is not UTF-8 does not decode [D3-ERR-12]', () => {
    expect(parsePeerHandle(around(Buffer.from('{"v":1,"p":"\xff"}', 'latin1')))).toBeUndefined();
  });

  it.each([
    ['more keys', '{"v":1,"x":{"y":[1]}}'],
    ['wrong types', '{"v":1,"iss":1,"p":null,"exp":"never","n":[]}'],
    ['white space', ' { "v" : 1.0 } '],
    ['a key twice', '{"v":2,"v":1}'],
    ['much', JSON.stringify({ v: 1, p: 'a'.repeat(1_000_000) })],
  ])('a payload with %s is read, and its MAC decides [D3-ERR-14] [D3-ERR-16]', (_, payload) => {
    expect(verified(around(payload))).toBeUndefined();
  });
});

describe('a MAC', () => {
  it.each([
    ['none', ''],
    ['a shorter one', macText.slice(0, -1)],
    ['a longer one', `${macText}A`],
    ['one with padding', `${macText}=`],
    // The last character holds two bits that no byte needs.
    ['a second spelling of the same bytes', `${macText.slice(0, -1)}R`],
    ['the other alphabet', macText.replace('_', '/').replace('-', '+')],
    ['an escape', macText.replace('Q', '%51')],
    ['another one', `A${macText.slice(1)}`],
    ['as many other characters', 'é'.repeat(43)],
  ])('%s does not verify, and is no matter of form [D3-ERR-14]', (_, text) => {
    expect(verified(`mh1.${payloadText}.${text}`)).toBeUndefined();
  });

  it('covers the payload as spelt, even where another spelling says the same [D3-ERR-16]', () => {
    const minted = mintPeerHandle({ key, audience, ...facts, path: 'q3.csv' });
    const [, text = '', mac = ''] = minted.split('.');
    expect(verified(minted)).toMatchObject({ p: 'q3.csv' });
    // Two of its six bits belong to a byte.
    expect(text.slice(-1)).toBe('Q');
    const respelt = `mh1.${text.slice(0, -1)}R.${mac}`;
    expect(parsePeerHandle(respelt)?.payload).toEqual(parsePeerHandle(minted)?.payload);
    expect(verified(respelt)).toBeUndefined();
  });
});
