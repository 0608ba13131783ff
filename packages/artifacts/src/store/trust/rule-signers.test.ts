import { describe, expect, it } from 'vitest';

import { isSameSigner } from './rule-signers.ts';
import type { Signer } from './signer.ts';

const workflow = 'https://github.com/acme/tools/.github/workflows/release.yml';

function job(ref: string, issuer = 'https://issuer.example'): Signer {
  return { kind: 'identity', issuer, identity: `${workflow}${ref}` };
}

function byKey(digit: string): Signer {
  return { kind: 'key', fingerprint: digit.repeat(64) };
}

describe('two signatures', () => {
  it.each([
    ['one tag and the next', job('@refs/tags/v1.0.0'), job('@refs/tags/v1.1.0'), true],
    ['a tag and one with a slash', job('@refs/tags/v1'), job('@refs/tags/a/b'), true],
    ['the same branch', job('@refs/heads/main'), job('@refs/heads/main'), true],
    ['two branches', job('@refs/heads/main'), job('@refs/heads/evil'), false],
    ['a tag and a branch', job('@refs/tags/v1'), job('@refs/heads/v1'), false],
    ['a tag and a branch that is named like one', job('@refs/tags/v1'), job('@refs/heads/x@refs/tags/v1'), false],
    ['a tag that is named like a branch', job('@refs/tags/v1'), job('@refs/tags/v1@refs/heads/main'), false],
    ['two workflows', job('@refs/tags/v1'), job('.yml@refs/tags/v1'), false],
    ['two issuers', job('@refs/tags/v1'), job('@refs/tags/v1', 'https://other.example'), false],
    ['one key', byKey('1'), byKey('1'), true],
    ['two keys', byKey('1'), byKey('2'), false],
    ['a key and a job', byKey('1'), job('@refs/tags/v1'), false],
  ])('have the same hands or not: %s', (_, one, other, same) => {
    expect(isSameSigner(one, other)).toBe(same);
    expect(isSameSigner(other, one)).toBe(same);
  });
});
