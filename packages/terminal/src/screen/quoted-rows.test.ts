import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { QuotedRows } from './quoted-rows.ts';
import { terminalOf, widthOf } from './terminal-kind.ts';

const terminal = terminalOf({ TERM: 'xterm', LANG: 'C.UTF-8' });
const text = fc.string({
  unit: fc.constantFrom('a', 'bcd', ' ', '  ', '\n', '\t', '\u4E16', 'a\u0301'),
  maxLength: 60,
});

describe('QuotedRows', () => {
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
