import { createHmac, randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';

import { Tokens, type Approval, MacKey } from './tokens.ts';

const approval: Approval = {
  serial: 7,
  parent: 3,
  depthRemaining: 2,
  name: 'scout',
  version: '1.0.0',
  sha256: 'a'.repeat(64),
  expiresAt: 65_000.25,
};

describe('tokens', () => {
  const tokens = new Tokens((size) => randomBytes(size));

  it('pass for the referee that minted them, and for nobody else [D2-TOKEN-07]', () => {
    const other = new Tokens((size) => randomBytes(size));
    expect(tokens.verifyCredential(tokens.mintCredential(4_711))).toBe(4_711);
    expect(tokens.verifyApproval(tokens.mintApproval(approval))).toEqual(approval);
    expect(other.verifyCredential(tokens.mintCredential(4_711))).toBeNull();
    expect(other.verifyApproval(tokens.mintApproval(approval))).toBeNull();
  });

  it('show their kind by their prefix, and nothing of the session [D2-TOKEN-01] [D2-TOKEN-03]', () => {
    expect(tokens.mintCredential(0)).toMatch(/^msc1\.[\w-]{51}$/);
    expect(tokens.mintCredential(2 ** 48 - 1)).toMatch(/^msc1\.[\w-]{51}$/);
    expect(tokens.mintApproval(approval)).toMatch(/^msa1\.[\w-]+$/);
  });

  it('have an HMAC-SHA-256 and its input, of one key for each kind: a new prefix makes nothing new [D2-TOKEN-07] [D2-AUTH-11]', () => {
    const keys = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)];
    const drawn = new Tokens(() => keys.shift() ?? Buffer.alloc(0));
    const macOf = (key: number, payload: string): string =>
      createHmac('sha256', Buffer.alloc(32, key)).update(payload).digest('base64url');
    const credential = drawn.mintCredential(1);
    expect(credential).toBe(`msc1.${macOf(1, 'AAAAAAAB')}AAAAAAAB`);
    const minted = drawn.mintApproval(approval);
    const payload = Buffer.from(`[7,3,2,"scout","1.0.0","${'a'.repeat(64)}",65000.25]`).toString('base64url');
    expect(minted).toBe(`msa1.${macOf(2, payload)}${payload}`);
    expect(drawn.verifyApproval(`msa1.${macOf(1, payload)}${payload}`)).toBeNull();
    expect(drawn.verifyCredential(`msc1.${macOf(2, 'AAAAAAAB')}AAAAAAAB`)).toBeNull();
  });

  it('may be as long as the longest names make them, and no longer', () => {
    const longest = { ...approval, name: 'n'.repeat(100), version: 'v'.repeat(100) };
    expect(tokens.verifyApproval(tokens.mintApproval(longest))).toEqual(longest);
    expect(tokens.verifyApproval(`${tokens.mintApproval(longest)}${'A'.repeat(100_000)}`)).toBeNull();
    expect(() => tokens.mintApproval({ ...approval, name: 'n'.repeat(4_096) })).toThrow('too long for a token');
  });

  it('have one spelling: what decodes to the same bytes is refused', () => {
    const credential = tokens.mintCredential(1);
    const spellings = [
      `${credential}=`,
      ` ${credential}`,
      `${credential} `,
      credential.replace('.', '.='),
      `${credential.slice(0, 9)}\n${credential.slice(9)}`,
      credential.toUpperCase(),
      credential.replace('msc1', 'MSC1'),
    ];
    // The MAC leaves two bits of its last character unused.
    const macEnd = 'msc1.'.length + 43;
    for (const last of 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_') {
      spellings.push(credential.slice(0, -1) + last);
      spellings.push(credential.slice(0, macEnd - 1) + last + credential.slice(macEnd));
    }
    const accepted = spellings.filter((text) => tokens.verifyCredential(text) !== null);
    expect(accepted).toEqual([credential, credential]);
  });
});

const secret = Buffer.alloc(32, 7);

describe('a key that seals texts', () => {
  it.each([0, 1, 6, 64, 100, 3000])('puts the HMAC-SHA-256 before a payload of %i bytes', (length) => {
    const payload = Buffer.alloc(length, 'x');
    const encoded = payload.toString('base64url');
    const mac = createHmac('sha256', secret).update(encoded).digest('base64url');
    const key = new MacKey('t1.', secret);
    expect(key.seal(payload)).toBe(`t1.${mac}${encoded}`);
    expect(key.open(`t1.${mac}${encoded}`)).toEqual(payload);
  });

  it('compares nothing with what another text left behind', () => {
    const key = new MacKey('t1.', secret);
    const sealed = key.seal(Buffer.from('session'));
    const macEnd = 't1.'.length + 43;
    expect(key.open(sealed)).toEqual(Buffer.from('session'));
    for (const last of ['é', '€', '\u{1f600}'.charAt(0)]) {
      const wrong = sealed.slice(0, macEnd - 1) + last + sealed.slice(macEnd);
      expect(key.open(wrong)).toBeNull();
    }
    expect(key.open(sealed.slice(0, macEnd - 1))).toBeNull();
    expect(key.open(sealed)).toEqual(Buffer.from('session'));
  });

  it('opens nothing whose characters have the right lower bytes alone', () => {
    const key = new MacKey('t1.', secret);
    const sealed = key.seal(Buffer.from('session'));
    const shifted = Array.from(sealed, (character, index) =>
      index < 3 ? character : String.fromCharCode(character.charCodeAt(0) + 0x100),
    );
    expect(key.open(shifted.join(''))).toBeNull();
  });

  it('seals and opens payloads of up to 4,096 characters, and opens nothing longer that begins as one of them', () => {
    const key = new MacKey('t1.', secret);
    const longest = Buffer.alloc(3072, 'x');
    const sealed = key.seal(longest);
    expect(sealed).toHaveLength('t1.'.length + 43 + 4096);
    expect(key.open(sealed)).toEqual(longest);
    expect(key.open(`${sealed}AAAA`)).toBeNull();
    expect(() => key.seal(Buffer.alloc(3073))).toThrow('the payload is too long for a token');
  });
});
