import { describe, expect, it } from 'vitest';

import { changedLines, lineChanges } from './line-changes.ts';

function shown(before: string, now: string, answer: string): readonly string[] {
  return changedLines(lineChanges(before, now), answer);
}

describe('the lines of a change', () => {
  it('have the numbers that the answer of the editor gives them, and two unchanged ones on each side', () => {
    const answer = 'patched src/a.ts: 1 replacement at line 9, between\n7: y\n8: z\n14: e\n15: f';
    expect(shown('a\nb\nc\nd\n', 'a\nB\nB2\nc\nd\n', answer)).toEqual([
      ' 8   z',
      ' 9   a',
      '10 - b',
      '10 + B',
      '11 + B2',
      '12   c',
      '13   d',
    ]);
  });

  it('stand once for a change of many places, with the other ones behind', () => {
    expect(shown('x', 'y', 'patched a: 3 replacements at lines 4, 5, 100')).toEqual([
      '4 - x',
      '4 + y',
      'the same at lines 5, 100',
    ]);
  });

  it('have no numbers where the answer gives none', () => {
    expect(shown('a\nx', 'a\ny', 'done')).toEqual(['  a', '- x', '+ y']);
    expect(shown('', 'new', 'created a (3 bytes)')).toEqual([]);
  });

  it('can be a million, and the answer can be of no editor', () => {
    const answer = `patched a: 1 replacement at line 1, between\n${'1: \n'.repeat(100_000)}`;
    const lines = shown('x\n'.repeat(1_000_000), 'y', answer);
    expect([lines.length, lines[0], lines[1_000_000]]).toEqual([1_000_003, '      1 - x', '      1 + y']);
  });
});
