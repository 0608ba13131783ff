import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { ShownTerminal } from '../../../../test/support/shown-terminal.ts';
import { QuotedRows } from './quoted-rows.ts';
import { Shown } from './shown.ts';
import { terminalOf, widthOf } from './terminal-kind.ts';

const terminal = terminalOf({ TERM: 'xterm', LANG: 'C.UTF-8' });
const text = fc.string({
  unit: fc.constantFrom('a', 'bcd', ' ', '  ', '\n', '\t', '\u4E16', 'a\u0301'),
  maxLength: 60,
});

/**
 * The rows that are not the text, character for character: only blanks where a row or a line ends are not shown, a tab is four blanks, and a first word that
 * is deeper indented than there is room for stands further left.
 */
function unlike(rows: readonly string[], written: string, room: number): readonly string[] {
  const lines = written.replaceAll('\t', '    ').split('\n');
  if (lines.at(-1)?.trim() === '') lines.pop();
  const left = [...rows];
  const wrong: string[] = [];
  for (const line of lines) {
    const indent = line.length - line.trimStart().length;
    let rest = line.trimStart();
    for (let isFirst = true; isFirst || (rest !== '' && wrong.length === 0); isFirst = false) {
      const row = left.shift()?.slice(2) ?? 'no row';
      const shown = row.trimStart();
      const [word = ''] = rest.split(' ', 1);
      const fits = word !== '' && indent + widthOf(word) <= room;
      const before = row.length - shown.length;
      const isIndented = isFirst ? (fits ? before === indent : before <= indent) : before === 0;
      if (!isIndented || !rest.startsWith(shown)) wrong.push(row);
      rest = rest.slice(shown.length).trimStart();
    }
  }
  return [...wrong, ...left];
}

describe('QuotedRows', () => {
  it('shows on a terminal the text that was written, character for character', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(text, { maxLength: 8 }), fc.integer({ min: 20, max: 40 }), async (pieces, columns) => {
        const shown = new ShownTerminal(columns);
        const rows = new QuotedRows(terminal, () => columns);
        const laidOut = [...pieces.map((piece) => rows.push(piece)), rows.end()].join('');
        shown.output.write(Shown.cleaned(laidOut.replaceAll('\n', '\r\n'), 'laid out'));
        expect(unlike(await shown.rows(), pieces.join(''), columns - 2)).toEqual([]);
      }),
      { examples: [[['blank at the end \n', 'of a line'], 40]] },
    );
  });

  it('lays out a text alike in whatever pieces it comes, each row behind the gutter and none too wide', () => {
    fc.assert(
      fc.property(fc.array(text, { maxLength: 8 }), fc.integer({ min: 8, max: 40 }), (pieces, columns) => {
        const rows = new QuotedRows(terminal, () => columns);
        const inPieces = pieces.map((piece) => rows.push(piece)).join('') + rows.end();
        const whole = new QuotedRows(terminal, () => columns);
        expect(inPieces).toBe(whole.push(pieces.join('')) + whole.end());
        for (const row of inPieces.split('\n').slice(0, -1)) {
          expect(row.startsWith('\u2502 ')).toBe(true);
          expect(widthOf(row)).toBeLessThanOrEqual(columns);
        }
      }),
    );
  });

  it('ends no row within a sequence of pictures with a joiner, which would draw the next gutter into its cell', () => {
    const family = '\u{1F469}\u200D\u{1F469}\u200D\u{1F467}\u200D\u{1F466}';
    for (let columns = 8; columns < 24; columns += 1) {
      const rows = new QuotedRows(terminal, () => columns);
      const shown = rows.push(`x${family.repeat(3)}`) + rows.end();
      expect(shown).not.toMatch(/\u200D\n/);
      expect(shown.match(/[\u{1F466}-\u{1F469}]/gu)).toHaveLength(12);
    }
  });

  it('shows the unfinished row as it would be if it ended now', () => {
    const rows = new QuotedRows(terminal, () => 20);
    expect(rows.openRows).toEqual([]);
    expect(rows.push('one two')).toBe('\u2502 one');
    expect(rows.openRows).toEqual(['\u2502 one two']);
    expect(rows.push(' three four five')).toBe(' two three four');
    expect(rows.openRows).toEqual(['\u2502 one two three four', '\u2502 five']);
    expect(rows.push('\n')).toBe('\n\u2502 five\n');
    expect(rows.openRows).toEqual([]);
  });

  it('lays that row out anew for another width, and loses nothing of it', () => {
    let columns = 40;
    const rows = new QuotedRows(terminal, () => columns);
    rows.push('before\none two three four five six sev');
    columns = 14;
    expect(rows.relaid()).toBe('\u2502 one two\n\u2502 three four\n\u2502 five six');
    expect(rows.openRows).toEqual(['\u2502 five six sev']);
    expect(rows.push('en\n')).toBe('\n\u2502 seven\n');
  });
});
