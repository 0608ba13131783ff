import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { inert, inertLine, InertText } from './inert-text.ts';

describe('inert text', () => {
  it.each([
    ['colours', 'a \u001B[1;31mred\u001B[0m b', 'a red b'],
    ['a window title', 'a\u001B]0;a new title\u0007b', 'ab'],
    ['a link', '\u001B]8;;https://a.example/\u001B\\here\u001B]8;;\u001B\\', 'here'],
    ['a device string', 'a\u001BP1$q"p\u001B\\b', 'ab'],
    ['short sequences', '\u001Bca\u001B7b\u001B(Bc', 'abc'],
    ['eight-bit sequences', 'a\u009B2Jb\u009D0;title\u009Cc', 'abc'],
    ['a bell and a backspace', 'ab\u0007c\u0008', 'abc'],
    ['the start of a sequence', 'a\u001B', 'a'],
  ])('leaves out %s', (_name, text, plain) => {
    expect(inert(text)).toBe(plain);
  });

  it('keeps tabs, line feeds and every letter', () => {
    expect(inert('a\tb\nŁódź 日本 👩‍🚀 [2J')).toBe('a\tb\nŁódź 日本 👩‍🚀 [2J');
  });

  it('keeps the text behind a string that nothing ends', () => {
    expect(inert('a\u001B]0;still here')).toBe('a0;still here');
  });

  it.each([
    ['parameters', ';a'],
    ['string starts', '\u001B]'],
    ['sequence starts', '\u001B['],
    ['intermediate characters', '/'],
  ])('takes twenty million characters of %s', (_name, piece) => {
    const text = `\u001B${piece.repeat(20_000_000 / piece.length)}`;
    expect(inert(`${text}end`).slice(-2)).toBe('nd');
  });

  it.each([
    ['device strings', '\u0090'],
    ['window titles', '\u009D'],
    ['sequences', '\u009B'],
    ['strings in strings', '\u001BP\u001B]'],
    ['marks', '\u0301'],
    ['joiners', '\u200D'],
    ['returns', '\r\r'],
  ])('takes two million starts of %s', (_name, piece) => {
    expect(inert(`${piece.repeat(2_000_000 / piece.length)}the end`)).toMatch(/he end$/);
  });

  it('does not let a text turn its direction around', () => {
    expect(inert('safe\u202Efdp.exe\u202C \u2066x\u2069 \u200Fa\u061Cb')).toBe('safefdp.exe x ab');
  });

  it('carries no bytes that nobody sees behind a picture or in a shorthand', () => {
    expect(inert(`\u2764${'\uFE0F'.repeat(100)}a`)).toBe('\u2764\uFE0Fa');
    expect(inert(`\u2764${'\u{E0101}\uFE0E'.repeat(100)}a`)).toBe('\u2764\uFE0Ea');
    expect(inert('a\u{1BCA0}b\u{1BCA1}c\u{1BCA2}d\u{1BCA3}e')).toBe('abcde');
  });

  it('shows no character that hides or only looks empty, and keeps what pictures are made of', () => {
    expect(inert('a\u200Bb\uFEFFc\u2060d\u00ADe\u3164f\u{E0041}g\u{E0101}h\uFE0Fi\u200Dj')).toBe('abcdefghij');
    expect(inert('\u2764\uFE0F \u{1F469}\u{1F3FD}\u200D\u{1F680}')).toBe(
      '\u2764\uFE0F \u{1F469}\u{1F3FD}\u200D\u{1F680}',
    );
    expect(inert('a\uD800b\uDC00')).toBe('ab');
  });

  it('keeps four marks of a letter', () => {
    expect(inert(`e${'\u0301'.repeat(50)}x`)).toBe(`e${'\u0301'.repeat(4)}x`);
  });

  it.each([
    ['a\rb', 'a\nb'],
    ['a\r\nb', 'a\nb'],
    ['a\r\r\nb', 'a\n\nb'],
    ['a\u000Bb\u000Cc\u0085d\u2028e', 'a\nb\nc\nd\ne'],
  ])('begins a new line where %j would go back or down', (text, lines) => {
    expect(inert(text)).toBe(lines);
  });

  it('stays the same text however it is cut into pieces', () => {
    const corpus = fc.array(
      fc.constantFrom(
        '\u001B',
        '[',
        ']',
        '0;x',
        '\u0007',
        '\\',
        '\u009D',
        '\u009C',
        'm',
        '\r',
        '\n',
        'a',
        '\u{1F469}',
        '\u200D',
        '\u0301',
        '\u202E',
      ),
      { maxLength: 30 },
    );
    fc.assert(
      fc.property(corpus, fc.array(fc.nat(40), { maxLength: 5 }), (parts, cuts) => {
        const text = parts.join('');
        const cleaning = new InertText();
        let shown = '';
        let from = 0;
        for (const cut of cuts.toSorted((a, b) => a - b)) {
          shown += cleaning.push(text.slice(from, Math.max(from, cut)));
          from = Math.max(from, cut);
        }
        shown += cleaning.push(text.slice(from)) + cleaning.end();
        expect(shown).toBe(inert(text));
        expect(shown).not.toMatch(/(?![\t\n])\p{Cc}|[\u202A-\u202E]/u);
      }),
    );
  });

  it('in one line has its cut before anything else', () => {
    expect(inertLine(`a\n b\u001B[2J${'c'.repeat(100)}`, 8)).toBe('a bccccc\u2026');
    expect(inertLine('short', 8)).toBe('short');
  });
});
