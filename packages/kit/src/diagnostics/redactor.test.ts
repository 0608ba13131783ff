import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { Redactor } from './redactor.ts';
import { Secret } from './secret.ts';

function redactorOf(...values: string[]): Redactor {
  const redactor = new Redactor();
  for (const value of values) redactor.register(new Secret(value));
  return redactor;
}

describe('a redactor', () => {
  it('replaces every secret everywhere, and nothing else', () => {
    expect(redactorOf('abcd', 'wxyz').redact('abcd, wxyz and abcd; ab cd')).toBe(
      '[secret], [secret] and [secret]; ab cd',
    );
  });

  it('leaves no rest of a secret that holds another', () => {
    expect(redactorOf('abcd', 'abcdef').redact('abcdef')).toBe('[secret]');
  });

  it('knows a secret as JSON text and as part of a URL', () => {
    const redactor = redactorOf('a"b/c');
    expect(redactor.redact(JSON.stringify({ key: 'a"b/c' }))).toBe('{"key":"[secret]"}');
    expect(redactor.redact(`https://x.example/?k=${encodeURIComponent('a"b/c')}`)).toBe(
      'https://x.example/?k=[secret]',
    );
  });

  it('knows a secret in JSON that stands in a text of JSON', () => {
    const within = JSON.stringify({ result: JSON.stringify({ key: 'a"b/c' }) });
    expect(redactorOf('a"b/c').redact(within)).toBe(String.raw`{"result":"{\"key\":\"[secret]\"}"}`);
  });

  it('ignores one too short to be a secret, and treats its characters as nothing but characters', () => {
    expect(redactorOf('').redact('text')).toBe('text');
    expect(redactorOf('tex').redact('text')).toBe('text');
    expect(redactorOf('$&.*').redact('a $&.* b')).toBe('a [secret] b');
  });

  it('leaves no secret in any text', () => {
    const secret = fc.string({ minLength: 12, unit: 'binary' });
    fc.assert(
      fc.property(secret, fc.string(), fc.string(), (value, before, after) => {
        expect(redactorOf(value).redact(before + value + after)).not.toContain(value);
      }),
    );
  });
});
