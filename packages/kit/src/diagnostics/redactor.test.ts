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

describe('a redactor knows what encoders make of a secret:', () => {
  const value = String.raw`pa ss"w\o/r'd!<&>+=(ß😀)*~`;
  const redactor = redactorOf(value);
  const spellings: readonly (readonly [string, string])[] = [
    ['JSON', String.raw`pa ss\"w\\o/r'd!<&>+=(ß😀)*~`],
    ['ASCII JSON', String.raw`pa ss\"w\\o/r'd!<&>+=(\u00df\ud83d\ude00)*~`],
    ['ASCII JSON in capitals', String.raw`pa ss\"w\\o/r'd!<&>+=(\u00DF\uD83D\uDE00)*~`],
    ['JSON that is safe in HTML', String.raw`pa ss\"w\\o/r'd!\u003c\u0026\u003e+=(ß😀)*~`],
    ['the same in capitals', String.raw`pa ss\u0022w\\o/r\u0027d!\u003C\u0026\u003E\u002B=(ß😀)*~`],
    ['JSON with escaped slashes', String.raw`pa ss\"w\\o\/r'd!<&>+=(\u00df\ud83d\ude00)*~`],
    ['JSON in JSON', String.raw`pa ss\\\"w\\\\o/r'd!<&>+=(ß😀)*~`],
    ['ASCII JSON in JSON', String.raw`pa ss\\\"w\\\\o/r'd!<&>+=(\\u00df\\ud83d\\ude00)*~`],
    ['JSON with escaped slashes in such JSON', String.raw`pa ss\\\"w\\\\o\\\/r'd!\\u003c\\u0026\\u003e+=(ß😀)*~`],
    ['a part of a URL', "pa%20ss%22w%5Co%2Fr'd!%3C%26%3E%2B%3D(%C3%9F%F0%9F%98%80)*~"],
    ['such a part in small letters', "pa%20ss%22w%5co%2fr'd!%3c%26%3e%2b%3d(%c3%9f%f0%9f%98%80)*~"],
    ['a strict part of a URL', 'pa%20ss%22w%5Co%2Fr%27d%21%3C%26%3E%2B%3D%28%C3%9F%F0%9F%98%80%29%2A~'],
    ['a form', 'pa+ss%22w%5Co%2Fr%27d%21%3C%26%3E%2B%3D%28%C3%9F%F0%9F%98%80%29*%7E'],
    ['a path', 'pa%20ss%22w%5Co/r%27d%21%3C%26%3E%2B%3D%28%C3%9F%F0%9F%98%80%29%2A~'],
    ['a URL in a URL', "pa%2520ss%2522w%255Co%252Fr'd!%253C%2526%253E%252B%253D(%25C3%259F%25F0%259F%2598%2580)*~"],
  ];

  it.each(spellings)('%s', (_, spelled) => {
    expect(redactor.redact(`<${spelled}> and ${spelled}`)).toBe('<[secret]> and [secret]');
  });

  it('and leaves what only begins or ends alike', () => {
    expect(redactorOf('ab/cdef').redact('ab/cde ab%2cdef ab%2Fcdf b/cdef')).toBe('ab/cde ab%2cdef ab%2Fcdf b/cdef');
  });

  it('of one without a run of letters', () => {
    expect(redactorOf('a/b c').redact(String.raw`a/b c, a\/b c, a%2fb+c, a/b,c`)).toBe(
      '[secret], [secret], [secret], a/b,c',
    );
  });

  it('of one that is mostly backslashes', () => {
    expect(redactorOf(String.raw`\\\\n`).redact(String.raw`\\\\n \\\\\\\\n \\\\\\\\\\\\\\\\n \\n`)).toBe(
      String.raw`[secret] [secret] [secret] \\n`,
    );
  });
});

describe('where a text was cut within a secret, a redactor', () => {
  const redactor = redactorOf('ghp_0123456789', 'x"y/z-key');

  it('leaves out the beginning at the end of what is kept', () => {
    expect(redactor.cutBefore('the token is ghp_012345678')).toBe('the token is ');
    expect(redactor.cutBefore('the token is ghp_')).toBe('the token is ');
    expect(redactor.cutBefore(String.raw`{"k":"x\"y\/`)).toBe('{"k":"');
    expect(redactor.cutBefore('?k=x%22y%2Fz%')).toBe('?k=x%22y%2Fz%');
    expect(redactor.cutBefore('?k=x%22y%2')).toBe('?k=x%22y%2');
    expect(redactor.cutBefore('?k=x%22y%2Fz-')).toBe('?k=');
  });

  it('leaves whole ones, shorter beginnings and everything else as it is', () => {
    for (const text of ['', 'ghp', 'a ghp_0123456789', 'ghp_0123456789 b', 'ghp_012x', 'abcghp']) {
      expect(redactor.cutBefore(text)).toBe(text);
    }
  });

  it('leaves out a whole one rather than a part of it', () => {
    expect(redactorOf('abcd-abcd-').cutBefore('1 abcd-abcd-')).toBe('1 ');
    expect(redactorOf('abcd-abcd', 'abcd!').redact(redactorOf('abcd-abcd', 'abcd!').cutBefore('1 abcd-abcd'))).toBe(
      '1 ',
    );
  });

  it('replaces what stands before the mark of a cut', () => {
    expect(redactor.redact('the token is ghp_01234…')).toBe('the token is [secret]…');
    expect(redactor.redact('ghp_0123456789, ghp_01…, ghp…, ghp_01 …')).toBe('[secret], [secret]…, ghp…, ghp_01 …');
    expect(redactor.redact('ghp_01234\n…\nlast')).toBe('[secret]\n…\nlast');
    expect(redactor.redact(JSON.stringify(JSON.stringify('x"y/z\n…')))).toBe(String.raw`"\"[secret]\\n…\""`);
  });

  it('replaces what stands behind the mark of a cut', () => {
    expect(redactor.redact('…3456789 is the token')).toBe('…[secret] is the token');
    expect(redactor.redact('first\n…\n0123456789\n…y/z-key')).toBe('first\n…\n[secret]\n…[secret]');
    expect(redactor.redact('…789, …x3456789')).toBe('…789, …x3456789');
  });

  it('is done in time with a text of nothing but marks and beginnings', () => {
    const text = 'ghp_0…456789'.repeat(100_000);
    expect(redactor.redact(text)).toBe('[secret]…[secret]'.repeat(100_000));
  });
});
