import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { anyCharacter } from '../../../../test/support/any-character.ts';
import { Redactor } from './redactor.ts';
import { Secret } from './secret.ts';

function redactorOf(...values: string[]): Redactor {
  const redactor = new Redactor();
  for (const value of values) redactor.register(new Secret(value));
  return redactor;
}

async function learned(...values: string[]): Promise<Redactor> {
  const redactor = redactorOf(...values);
  await redactor.learnSpellings();
  return redactor;
}

describe('a redactor', () => {
  it('replaces every secret everywhere, and nothing else', () => {
    expect(redactorOf('abcd', 'wxyz').redact('abcd, wxyz and abcd; ab cd')).toBe(
      '[secret], [secret] and [secret]; ab cd',
    );
  });

  it('forgets a secret that nobody else has registered', async () => {
    for (const redactor of [redactorOf('abcd', 'wxyz'), await learned('abcd', 'wxyz')]) {
      redactor.register(new Secret('abcd'));
      redactor.forget(new Secret('abcd'));
      expect(redactor.redact('abcd wxyz')).toBe('[secret] [secret]');
      redactor.forget(new Secret('abcd'));
      expect(redactor.redact('abcd wxyz')).toBe('abcd [secret]');
    }
  });

  it('leaves no rest of a secret that holds another', () => {
    expect(redactorOf('abcd', 'abcdef').redact('abcdef')).toBe('[secret]');
  });

  it('knows a secret as JSON text and as part of a URL', async () => {
    const redactor = await learned('a"b/c');
    expect(redactor.redact(JSON.stringify({ key: 'a"b/c' }))).toBe('{"key":"[secret]"}');
    expect(redactor.redact(`https://x.example/?k=${encodeURIComponent('a"b/c')}`)).toBe(
      'https://x.example/?k=[secret]',
    );
  });

  it('knows a secret in JSON that stands in a text of JSON', async () => {
    const within = JSON.stringify({ result: JSON.stringify({ key: 'a"b/c' }) });
    expect((await learned('a"b/c')).redact(within)).toBe(String.raw`{"result":"{\"key\":\"[secret]\"}"}`);
  });

  it('ignores one too short to be a secret, and treats its characters as plain ones', () => {
    expect(redactorOf('').redact('text')).toBe('text');
    expect(redactorOf('tex').redact('text')).toBe('text');
    expect(redactorOf('$&.*').redact('a $&.* b')).toBe('a [secret] b');
  });

  it('leaves no secret in any text', async () => {
    const secret = fc.string({ minLength: 12, unit: anyCharacter });
    await fc.assert(
      fc.asyncProperty(secret, fc.string(), fc.string(), async (value, before, after) => {
        const text = before + value + after;
        expect(redactorOf(value).redact(text)).not.toContain(value);
        expect((await learned(value)).redact(text)).not.toContain(value);
      }),
    );
  });

  it('learns the spellings of secrets that are registered later, too', async () => {
    const redactor = await learned();
    expect(redactor.knowsAny).toBe(false);
    redactor.register(new Secret('a"b/c'));
    redactor.register(new Secret('abcd-abcd'));
    expect(redactor.redact(String.raw`a"b\/c abcd…`)).toBe('[secret] [secret]…');
  });
});

describe('a redactor of secrets that encoders have changed', () => {
  const value = String.raw`pa ss"w\o/r'd!<&>+=(ß😀)*~`;
  const redactor = learned(value);
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

  it.each(spellings)('%s', async (_, spelled) => {
    expect((await redactor).redact(`<${spelled}> and ${spelled}`)).toBe('<[secret]> and [secret]');
  });

  describe.each([1, 2, 3, 4, 5])('%i levels of JSON, each', (levels) => {
    const secret = 'pa"ss\\w\nörd😀/';
    const ascii = (json: string): string =>
      json.replaceAll(/[^\0-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);

    it.each<readonly [string, (text: string) => string]>([
      ['as it is', (text) => JSON.stringify(text)],
      ['in ASCII', (text) => ascii(JSON.stringify(text))],
      ['with escaped slashes', (text) => JSON.stringify(text).replaceAll('/', '\\/')],
      ['with numbers for its quotes', (text) => `"${JSON.stringify(text).slice(1, -1).replaceAll('\\"', '\\u0022')}"`],
      ['and in ASCII at the last only', (text) => JSON.stringify(text)],
    ])('%s', async (style, encode) => {
      const nested = (inner: string): string =>
        Array.from({ length: levels }).reduce<string>((text) => encode(`<${text}>`), inner);
      const last = (text: string): string => (style.endsWith('only') ? ascii(text) : text);
      expect((await learned(secret)).redact(last(nested(secret)))).toBe(last(nested('[secret]')));
    });
  });

  it('JSON in a URL', async () => {
    const query = `?q=${encodeURIComponent(JSON.stringify({ key: value }))}`;
    expect((await redactor).redact(query)).toBe(
      `?q=${encodeURIComponent('{"key":"')}[secret]${encodeURIComponent('"}')}`,
    );
  });

  it('leaves what only begins or ends alike', async () => {
    expect((await learned('ab/cdef')).redact('ab/cde ab%2cdef ab%2Fcdf b/cdef')).toBe(
      'ab/cde ab%2cdef ab%2Fcdf b/cdef',
    );
  });

  it('finds one without a run of letters', async () => {
    expect((await learned('a/b c')).redact(String.raw`a/b c, a\/b c, a%2fb+c, a/b,c`)).toBe(
      '[secret], [secret], [secret], a/b,c',
    );
  });

  it('finds one that repeats what encoders write in other ways', async () => {
    expect((await learned('a  b""//')).redact(String.raw`a++b%22%22%2F%2F a  b\"\"\/\/ a  b""\/\/`)).toBe(
      '[secret] [secret] [secret]',
    );
  });

  it('finds one that is mostly backslashes', async () => {
    expect((await learned(String.raw`\\\\n`)).redact(String.raw`\\\\n \\\\\\\\n \\\\\\\\\\\\\\\\n \\n`)).toBe(
      String.raw`[secret] [secret] [secret] \\n`,
    );
  });
});

describe('where a text was cut within a secret, a redactor', () => {
  const redactor = learned('ghp_0123456789', 'x"y/z-key');

  it('leaves out the beginning at the end of what is kept', async () => {
    expect((await redactor).cutBefore('the token is ghp_012345678')).toBe('the token is ');
    expect((await redactor).cutBefore('the token is ghp_')).toBe('the token is ');
    expect((await redactor).cutBefore(String.raw`{"k":"x\"y\/`)).toBe('{"k":"');
    expect((await redactor).cutBefore('?k=x%22y%2Fz%')).toBe('?k=x%22y%2Fz%');
    expect((await redactor).cutBefore('?k=x%22y%2')).toBe('?k=x%22y%2');
    expect((await redactor).cutBefore('?k=x%22y%2Fz-')).toBe('?k=');
  });

  it('leaves whole ones, shorter beginnings and everything else as it is', async () => {
    for (const text of ['', 'ghp', 'a ghp_0123456789', 'ghp_0123456789 b', 'ghp_012x', 'abcghp']) {
      expect((await redactor).cutBefore(text)).toBe(text);
    }
  });

  it('leaves out a whole one rather than a part of it', async () => {
    expect((await learned('abcd-abcd-')).cutBefore('1 abcd-abcd-')).toBe('1 ');
    expect((await learned('abcd-abcd', 'abcd!')).cutBefore('1 abcd-abcd')).toBe('1 ');
  });

  it('replaces what stands before the mark of a cut', async () => {
    expect((await redactor).redact('the token is ghp_01234…')).toBe('the token is [secret]…');
    expect((await redactor).redact('ghp_0123456789, ghp_01…, ghp…, ghp_01 …')).toBe(
      '[secret], [secret]…, ghp…, ghp_01 …',
    );
    expect((await redactor).redact('ghp_01234\n…\nlast')).toBe('[secret]\n…\nlast');
    expect((await redactor).redact(JSON.stringify(JSON.stringify('x"y/z\n…')))).toBe(String.raw`"\"[secret]\\n…\""`);
  });

  it('replaces what stands behind the mark of a cut', async () => {
    expect((await redactor).redact('…3456789 is the token')).toBe('…[secret] is the token');
    expect((await redactor).redact('first\n…\n0123456789\n…y/z-key')).toBe('first\n…\n[secret]\n…[secret]');
    expect((await redactor).redact('…789, …x3456789')).toBe('…789, …x3456789');
  });

  it('finishes in time with a text that has only marks and beginnings', async () => {
    const text = 'ghp_0…456789'.repeat(100_000);
    expect((await redactor).redact(text)).toBe('[secret]…[secret]'.repeat(100_000));
  });
});
