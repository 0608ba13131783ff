import { describe, expect, it } from 'vitest';

import { cutToWidth, terminalOf, withCursor } from './terminal-kind.ts';

describe('a row of svc on a terminal', () => {
  const terminal = terminalOf({ TERM: 'xterm', LANG: 'C.UTF-8' });

  it.each([
    ['0123456789 the end', 10, '0123456789\n  the end'],
    ['one two three four', 13, 'one two three\n  four'],
    ['one two three four', 12, 'one two\n  three four'],
    ['one two   three  four', 7, 'one two\n  three\n  four'],
  ])('with %j loses no word and joins none in %i columns', (row, columns, rows) => {
    expect(terminal.wrapped(row, columns)).toBe(rows);
  });

  it('ends with no joiner where it is broken or cut, which would draw what comes next into its cell', () => {
    const family = '\u{1F469}\u200D\u{1F467}\u200D\u{1F466}\u200D\u{1F466}';
    expect(terminal.wrapped(family, 5)).toBe('\u{1F469}\u200D\u{1F467}\n  \u{1F466}\n  \u{1F466}');
    expect(cutToWidth(family, 5)).toBe('\u{1F469}\u200D\u{1F467}\u2026');
  });
});

describe('the most cells that a terminal gives a text', () => {
  it.each([
    ['C.UTF-8', 'plain', 5],
    ['C.UTF-8', '\u2502 \u00E9 \u2014 \u2713', 7],
    ['C.UTF-8', '\u0436\u03B4\u05D0', 3],
    ['C.UTF-8', '\u4E16\u{1F600}\u{1FAE9}', 6],
    ['C.UTF-8', 'e\u0301\u0915', 5],
    ['ja_JP.UTF-8', '\u2502 \u00E9\u0436', 7],
  ])('give in %s, for %j, %i', (locale, text, cells) => {
    expect(terminalOf({ TERM: 'xterm', LANG: locale }).maxCellsOf(text)).toBe(cells);
  });
});

describe('the cursor that is drawn in a row', () => {
  it.each([
    ['stands on a character', '> abc', 3, '> a\u001B[7mb\u001B[27mc'],
    ['stands behind the last one', '> ', 2, '> \u001B[7m \u001B[27m'],
    ['stands on both cells of a wide one', '> \u4E16\u754C!', 4, '> \u4E16\u001B[7m\u754C\u001B[27m!'],
    ['stands on a letter and its mark', 'e\u0301a', 0, '\u001B[7me\u0301\u001B[27ma'],
    ['leaves colours as they are', '\u001B[2mab\u001B[22m', 1, '\u001B[2ma\u001B[7mb\u001B[27m\u001B[22m'],
  ])('%s', (_name, row, column, drawn) => {
    expect(withCursor(row, column)).toBe(drawn);
  });
});
