import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { beyondNumbers, digitsBelow, exactJson, withDigits } from './exact-json.ts';

describe('a JSON text whose numbers lose digits', () => {
  it.each([
    ['{"id":1234567890123456789}', { id: 1234567890123456800 }, { '/id': '1234567890123456789' }],
    [
      '[0.1234567890123456789,[-9007199254740993]]',
      [0.12345678901234568, [-9007199254740992]],
      {
        '/0': '0.1234567890123456789',
        '/1/0': '-9007199254740993',
      },
    ],
    ['{"a/b":{"c~d":1e400}}', { 'a/b': { 'c~d': null } }, { '/a~1b/c~0d': '1e400' }],
    [
      '{"s":"1234567890123456789 \\" 1e400","id":12345678901234567891}',
      {
        s: '1234567890123456789 " 1e400',
        id: 12345678901234567000,
      },
      { '/id': '12345678901234567891' },
    ],
  ])('keeps them beside its value: %s', (text, value, digits) => {
    const read = exactJson(text);
    expect(read).toEqual({ value, digits });
    expect(withDigits(value, digits)).toBe(text);
  });

  it.each([
    ['a text that looks like a number of theirs', '\u0000#12'],
    ['a text that ends like one', 'x"\u0000#12'],
    ['null characters in a row', `${'\u0000'.repeat(5)}#12`],
    ['a backslash before one', '\\\\u0000#12'],
  ])('leaves %s as it is', (_, odd) => {
    const text = JSON.stringify({ a: odd, [odd]: 1, b: [0] }).replace('[0]', '[12345678901234567891]');
    const read = exactJson(text);
    expect(read).toEqual({ value: JSON.parse(text) as unknown, digits: { '/b/0': '12345678901234567891' } });
    expect(withDigits(read?.value, read?.digits)).toBe(text);
  });

  it('may be megabytes of escapes, or a number of as many digits', () => {
    const escapes = `{"a":"${'\\n'.repeat(9_000_000)}","b":12345678901234567891}`;
    const read = exactJson(escapes);
    expect(withDigits(read?.value, read?.digits) === escapes).toBe(true);
    const long = `[1${'0'.repeat(2_000_000)}1]`;
    expect(exactJson(long)?.digits['/0']).toBe(long.slice(1, -1));
  });

  it.each(['{"a":12345678901234567000}', '{"a":1.50,"b":1e3,"c":100000000000000000000}', '{"a":"1e400"}', '{}'])(
    'keeps nothing beside its value in %s',
    (text) => {
      expect(exactJson(text)).toBeNull();
    },
  );

  it('comes back as it was, whatever it holds', () => {
    const number = fc.bigInt({ min: -(10n ** 40n), max: 10n ** 40n }).map(String);
    const entry = fc.tuple(
      fc.string({ unit: 'grapheme' }),
      fc.oneof(
        number,
        fc.string().map((s) => JSON.stringify(s)),
      ),
    );
    const object = fc.uniqueArray(entry, { selector: ([key]) => key, maxLength: 6 });
    fc.assert(
      fc.property(object, (entries) => {
        const inner = entries.map(([key, value]) => `${JSON.stringify(key)}:${value}`).join(',');
        const text = `{"list":[{${inner}}]}`;
        const read = exactJson(text);
        if (read === null) return;
        expect(JSON.stringify(read.value)).toBe(JSON.stringify(JSON.parse(text)));
        const digits = Object.values(read.digits).toSorted();
        expect(Object.values(exactJson(withDigits(read.value, read.digits))?.digits ?? {}).toSorted()).toEqual(digits);
      }),
    );
  });
});

describe('the digits of a value', () => {
  it('disappear where another value has taken their place, and where they are no number', () => {
    expect(withDigits({ id: 1 }, { '/id': '1234567890123456789' })).toBe('{"id":1}');
    expect(withDigits({ id: 1234567890123456800 }, { '/id': '[key]', '/x/y': '1' })).toBe('{"id":1234567890123456800}');
  });

  it('say which number is beyond all that JavaScript has', () => {
    expect(beyondNumbers({ '/a': '12345678901234567', '/b': '-1e999' })).toEqual({ pointer: '/b', text: '-1e999' });
    expect(beyondNumbers({ '/a': '12345678901234567' })).toBeNull();
  });

  it('keep to their own place', () => {
    expect(digitsBelow({ '/a/b': '1', '/ab/c': '2' }, '/a')).toEqual({ '/b': '1' });
    expect(digitsBelow({ '/a/b': '1' }, '/b')).toBeUndefined();
  });
});
