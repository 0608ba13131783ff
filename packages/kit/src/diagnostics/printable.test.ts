import { describe, expect, it } from 'vitest';

import { firstLines, firstNames, printable, quoted, shortened } from './printable.ts';

describe('text from outside', () => {
  it('keeps what can be seen and spells out what cannot', () => {
    expect(printable('añ日 🙂')).toBe('añ日 🙂');
    expect(printable('a\u0000b\u001B[1m\u200B\u2028')).toBe('a\\u{0}b\\u{1b}[1m\\u{200b}\\u{2028}');
  });

  it('ends behind whole characters', () => {
    expect(shortened('abcdef', 6)).toBe('abcdef');
    expect(shortened('abcdefg', 6)).toBe('abcdef…');
    expect(shortened('abcde🙂', 6)).toBe('abcde…');
    expect(shortened('abcd🙂e', 6)).toBe('abcd🙂…');
  });

  it('loses the user and the password of an address', () => {
    expect(quoted('https://user:p@ss@example.com/a@b')).toBe('"https://…@example.com/a@b"');
    expect(quoted(`https://${'x'.repeat(200)}@example.com`)).toBe('"https://…@example.com"');
  });

  it('appears in quotes and ends at sixty characters, never through one', () => {
    expect(quoted('short')).toBe('"short"');
    expect(quoted('x'.repeat(60))).toBe(`"${'x'.repeat(60)}"`);
    expect(quoted('x'.repeat(61))).toBe(`"${'x'.repeat(60)}…"`);
    expect(quoted('🙂'.repeat(100))).toBe(`"${'🙂'.repeat(60)}…"`);
  });
});

describe('a list in a message', () => {
  it('names the first, spells only those, and counts the rest', () => {
    const spelt: string[] = [];
    const spell = (name: string): string => {
      spelt.push(name);
      return `<${name}>`;
    };
    expect(firstNames(['a', 'b', 'c'], 2, spell)).toBe('<a>, <b> and 1 more');
    expect(spelt).toEqual(['a', 'b']);
    expect(firstNames(['a', 'b'], 2)).toBe('a, b');
  });

  it('has the count of the other lines as its last', () => {
    expect(firstLines(['a', 'b', 'c', 'd'], 2)).toEqual(['a', 'b', 'and 2 more']);
    expect(firstLines(['a', 'b'], 2)).toEqual(['a', 'b']);
  });
});
