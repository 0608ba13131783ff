import pc from 'picocolors';
import { expect, it } from 'vitest';

import { MarkdownColours } from './markdown-colours.ts';

const gutter = '\u2502 ';
const rows = ['# A plan', 'with **two** of `them`', '```ts', '**not** # bold', '```', 'and a * b * c'].map(
  (row) => gutter + row,
);

it('MarkdownColours colours headings, bold and code, and no row of a fence otherwise', () => {
  const colours = new MarkdownColours(pc.createColors(true), gutter);
  expect(rows.map((row) => colours.whole(row).slice(gutter.length))).toEqual([
    '\u001B[1m# A plan\u001B[22m',
    'with \u001B[1m**two**\u001B[22m of \u001B[36m`them`\u001B[39m',
    '\u001B[36m```ts\u001B[39m',
    '\u001B[36m**not** # bold\u001B[39m',
    '\u001B[36m```\u001B[39m',
    'and a * b * c',
  ]);
});

it('MarkdownColours changes nothing without colours', () => {
  const colours = new MarkdownColours(pc.createColors(false), gutter);
  expect(rows.map((row) => colours.whole(row))).toEqual(rows);
});
