import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { colour, widthOf } from '../terminal-kind.ts';
import { MarkdownRows } from './markdown-rows.ts';

const marks = {
  bold: (text: string) => `<b>${text}</b>`,
  italic: (text: string) => `<i>${text}</i>`,
  cyan: (text: string) => `<c>${text}</c>`,
  dim: (text: string) => text,
};
const sgr = {
  bold: (text: string) => `\u001B[1m${text}\u001B[22m`,
  italic: (text: string) => `\u001B[3m${text}\u001B[23m`,
  cyan: (text: string) => `\u001B[36m${text}\u001B[39m`,
  dim: (text: string) => `\u001B[2m${text}\u001B[22m`,
};

type Colours = typeof marks | null;

function drawn(text: string | readonly string[], columns = 42, colours: Colours = marks): readonly string[] {
  const rows = new MarkdownRows({ gutter: '\u2502 ', hasUnicode: true, colours }, () => columns);
  const pieces = typeof text === 'string' ? [text] : text;
  return [...pieces.flatMap((piece) => rows.push(piece)), ...rows.end()].map((row) => row.slice(2));
}

const plainOf = (row: string): string => row.replaceAll(new RegExp(colour, 'g'), '');

describe('Markdown on a terminal', () => {
  it.each([
    ['a heading', '## The end', ['<b>The</b> <b>end</b>']],
    ['bold and italic text', 'a **b c** *d* ***e***f', ['a <b>b</b> <b>c</b> <i>d</i> <b><i>e</i></b>f']],
    ['bold text over two lines', '**a\nb** c', ['<b>a</b>', '<b>b</b> c']],
    ['code', 'run `npm *i*` or ``a`b``', ['run <c>npm</c> <c>*i*</c> or <c>a`b</c>']],
    ['marks that are text', '2 * 3 ** 4, **a, `b, 2*3*4 __init__ \\*c\\*', ['2 * 3 ** 4, **a, `b, 2*3*4 __init__ *c*']],
    ['a list', '- one\n  1. two\n* three **x**', ['\u2022 one', '  1. two', '\u2022 three <b>x</b>']],
    ['a rule', '---', ['\u2500'.repeat(40)]],
    ['a quotation', '> a **b**', ['> a <b>b</b>']],
    [
      'a block of code',
      '```ts\nconst **a** = `b`;\n\n  x\n```\nend',
      ['\u256D ts', '<c>const</c> <c>**a**</c> <c>=</c> <c>`b`;</c>', '', '  <c>x</c>', '\u2570', 'end'],
    ],
    ['a block of code without an end', '~~~\n```\n**a**', ['\u256D', '<c>```</c>', '<c>**a**</c>']],
    ['paragraphs', 'one\n\ntwo\nthree\n', ['one', '', 'two', 'three']],
  ])('has %s drawn', (_name, text, rows) => {
    expect(drawn(text)).toEqual(rows);
  });

  it('has the rows of a list and of an indented line go on behind their start', () => {
    expect(drawn('- one two three four five six\n    seven eight nine ten eleven', 22, null)).toEqual([
      '\u2022 one two three four',
      '  five six',
      '    seven eight nine',
      '    ten eleven',
    ]);
  });

  it('has a table in columns that are as wide as their texts, and the marks in its cells drawn', () => {
    expect(drawn('| Name | n |\n|:--|--:|\n| **a** | 1 |\n| b \\| c | 20 |\nend')).toEqual([
      '<b>Name</b>  \u2502  <b>n</b>',
      '\u2500\u2500\u2500\u2500\u2500\u2500\u253C\u2500\u2500\u2500',
      '<b>a</b>     \u2502  1',
      'b | c \u2502 20',
      'end',
    ]);
  });

  it('keeps every mark where there are no colours to say the same', () => {
    expect(drawn('# a **b** `c`\n- d', 42, null)).toEqual(['# a **b** `c`', '\u2022 d']);
  });

  it('has a table that is wider than the screen drawn with broken cells, and one of too many columns as a list', () => {
    const row = '| one two three | four five six seven eight |';
    expect(drawn(`| a | b |\n|---|---|\n${row}\n`, 22)).toEqual([
      '<b>a</b>        \u2502 <b>b</b>',
      '\u2500'.repeat(9) + '\u253C' + '\u2500'.repeat(10),
      'one two  \u2502 four five',
      'three    \u2502 six seven',
      '         \u2502 eight',
    ]);
    const narrow = '| a | b | c |\n|---|---|---|\n';
    expect(drawn(`${narrow}| 1 | 2 |\n| 3 |\n`, 20)).toEqual(['<b>a:</b> 1', '<b>b:</b> 2', '', '<b>a:</b> 3']);
    expect(drawn(narrow, 20)).toEqual(['a | b | c']);
  });

  const source = fc
    .array(
      fc.constantFrom(
        'a',
        'bcd ',
        ' ',
        '\n',
        '\n\n',
        '\t',
        '**',
        '*',
        '`',
        '```',
        '```ts\n',
        '~~~',
        '#',
        '# ',
        '- ',
        '1. ',
        '> ',
        '|',
        '|--|',
        '| a |',
        '---\n',
        '\\',
        '\u4E16',
        'e\u0301',
        '\u{1F469}\u200D\u{1F467}',
        '\u001B[2J',
        '\r',
        '\u202E',
      ),
      { maxLength: 60 },
    )
    .map((parts) => parts.join(''));

  it('has the same rows in whatever pieces the text comes, and shows no part of one before it is final', () => {
    fc.assert(
      fc.property(source, fc.integer({ min: 20, max: 50 }), (text, columns) => {
        expect(drawn(text.split(''), columns, sgr)).toEqual(drawn(text, columns, sgr));
      }),
      { numRuns: 500 },
    );
  });

  it('stands behind the gutter in rows that fit, with no control but the colours of svc, and loses no letter', () => {
    fc.assert(
      fc.property(source, fc.integer({ min: 20, max: 50 }), (text, columns) => {
        const rows = drawn(text, columns, sgr);
        for (const row of rows) {
          expect(plainOf(row)).not.toMatch(/[\p{Cc}\u202E]/u);
          expect(widthOf(plainOf(row))).toBeLessThanOrEqual(columns - 2);
        }
        const letters = (shown: string): string => shown.replaceAll(/[^\p{L}1\u{1F469}]/gu, '');
        const hasTable = /\|/.test(text);
        if (!hasTable) expect(letters(plainOf(rows.join('')))).toBe(letters(text.replaceAll('\u001B[2J', '')));
      }),
      { numRuns: 500 },
    );
  });

  it.each([
    ['open marks', '*a **b `c ', 25_000],
    ['lines with an open mark', '**a\n', 50_000],
    ['backticks of many lengths', Array.from({ length: 100 }, (_, index) => '`'.repeat(index)).join(' '), 200],
    ['marks in marks', '> - '.repeat(50), 5000],
    ['quotations in each other', '>', 250_000],
    ['lists in each other', Array.from({ length: 200 }, (_, index) => `${' '.repeat(index)}- a\n`).join(''), 50],
    ['dashes', '-', 250_000],
    ['blanks', ' ', 250_000],
    ['bars', '|', 250_000],
    ['backslashes', '\\', 250_000],
    ['starts of code', '```\n', 50_000],
    ['lines that may be the head of a table', '|a\n', 50_000],
    ['tables', '|a|\n|-|\n|b|\n\n', 12_000],
    ['rows of a table', `|a|\n|-|\n${'|b\n'.repeat(10)}`, 5000],
    [
      'a table of a thousand columns',
      `${'|a'.repeat(1000)}\n${'|-'.repeat(1000)}\n${`${'|b'.repeat(1000)}\n`.repeat(20)}`,
      1,
    ],
    ['a line without a blank', 'x', 250_000],
    ['wide characters', '\u4E16', 125_000],
    ['accents', 'e\u0301\u0301\u0301\u0301', 25_000],
    ['numbers', '1.\n', 50_000],
  ])('takes hundreds of thousands of characters of %s', (_name, part, times) => {
    for (const columns of [20, 80]) {
      const rows = drawn(part.repeat(times), columns, sgr);
      expect(rows.some((row) => widthOf(plainOf(row)) > columns - 2)).toBe(false);
    }
  });

  it('takes all of that a character at a time, with rows that may still change after each', () => {
    for (const part of ['**a\n', '>', '|', '|a\n', '`', ' ', '-', '```\n', '\\', '*a **b `c ']) {
      const rows = new MarkdownRows({ gutter: '\u2502 ', hasUnicode: true, colours: sgr }, () => 20);
      let most = 0;
      for (const character of part.repeat(3000 / part.length)) {
        rows.push(character);
        most = Math.max(most, rows.openRows.length);
      }
      rows.end();
      expect(most).toBeLessThanOrEqual(64);
    }
  });
});
