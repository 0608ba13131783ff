import { createHmac, randomBytes } from 'node:crypto';

import { describe, expect, it } from 'vitest';

import { Tokens, type Approval } from './tokens.ts';

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

  it('are known again by who minted them, and by nobody else [D2-TOKEN-07]', () => {
    const other = new Tokens((size) => randomBytes(size));
    expect(tokens.verifyCredential(tokens.mintCredential(4_711))).toBe(4_711);
    expect(tokens.verifyApproval(tokens.mintApproval(approval))).toEqual(approval);
    expect(other.verifyCredential(tokens.mintCredential(4_711))).toBeNull();
    expect(other.verifyApproval(tokens.mintApproval(approval))).toBeNull();
  });

  it('say by their prefix what they are, and tell nothing of the session [D2-TOKEN-01] [D2-TOKEN-03]', () => {
    expect(tokens.mintCredential(0)).toMatch(/^msc1\.[\w-]{51}$/);
    expect(tokens.mintCredential(2 ** 48 - 1)).toMatch(/^msc1\.[\w-]{51}$/);
    expect(tokens.mintApproval(approval)).toMatch(/^msa1\.[\w-]+$/);
  });

  it('of one kind have a key of their own: the prefix is no part of what is trusted [D2-AUTH-11]', () => {
    const keys = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)];
    const drawn = new Tokens(() => keys.shift() ?? Buffer.alloc(0));
    const bytes = Buffer.from(drawn.mintCredential(0).slice('msc1.'.length), 'base64url');
    const macUnder = (key: number): Buffer =>
      createHmac('sha256', Buffer.alloc(32, key)).update(bytes.subarray(32)).digest();
    expect(bytes.subarray(0, 32)).toEqual(macUnder(1));
    const approvalBytes = Buffer.concat([macUnder(1), bytes.subarray(32)]).toString('base64url');
    expect(drawn.verifyApproval(`msa1.${approvalBytes}`)).toBeNull();
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
    // 38 bytes leave two bits of the last character unused.
    for (const last of 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_') {
      spellings.push(credential.slice(0, -1) + last);
    }
    const accepted = spellings.filter((text) => tokens.verifyCredential(text) !== null);
    expect(accepted).toEqual([credential]);
  });
});
