import { describe, expect, it } from 'vitest';

import { plainText } from './plain-text.ts';

describe('plain text', () => {
  it.each([
    ['colours', 'a \u001B[1;31mred\u001B[0m b', 'a red b'],
    ['a window title', 'a\u001B]0;a new title\u0007b', 'ab'],
    ['a link', '\u001B]8;;https://a.example/\u001B\\here\u001B]8;;\u001B\\', 'here'],
    ['a device string', 'a\u001BP1$q"p\u001B\\b', 'ab'],
    ['short sequences', '\u001Bca\u001B7b\u001B(Bc', 'abc'],
    ['eight-bit sequences', 'a\u009B2Jb\u009D0;title\u009Cc', 'abc'],
    ['a carriage return, a bell and a backspace', 'a\rb\u0007c\u0008', 'abc'],
    ['the start of a sequence', 'a\u001B', 'a'],
  ])('leaves out %s', (_name, text, plain) => {
    expect(plainText(text)).toBe(plain);
  });

  it('keeps tabs, line feeds and every letter', () => {
    expect(plainText('a\tb\nŁódź 日本 👩‍🚀 [2J')).toBe('a\tb\nŁódź 日本 👩‍🚀 [2J');
  });

  it('keeps the text behind a string that nothing ends', () => {
    expect(plainText('a\u001B]0;still here')).toBe('a0;still here');
  });

  it.each([
    ['parameters', ';a'],
    ['string starts', '\u001B]'],
    ['sequence starts', '\u001B['],
    ['intermediate characters', '/'],
  ])('takes twenty million characters of %s', (_name, piece) => {
    const text = `\u001B${piece.repeat(20_000_000 / piece.length)}`;
    expect(plainText(`${text}end`).slice(-2)).toBe('nd');
  });

  it('does not let a text turn its direction around', () => {
    expect(plainText('safe\u202Efdp.exe\u202C \u2066x\u2069')).toBe('safefdp.exe x');
  });
});
