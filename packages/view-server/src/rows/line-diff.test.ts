import { describe, expect, it } from 'vitest';

import { changedLines, lineDiff } from './line-diff.ts';

describe('the difference of two texts', () => {
  it('has the lines that went and those that came, around what stayed', () => {
    expect(lineDiff('a\nb\nc\nd\n', 'a\nx\nc\ny\nd\n')).toEqual([
      [' ', 'a'],
      ['-', 'b'],
      ['+', 'x'],
      [' ', 'c'],
      ['+', 'y'],
      [' ', 'd'],
    ]);
    expect(lineDiff('', 'new\n')).toEqual([['+', 'new']]);
    expect(lineDiff('old', '')).toEqual([['-', 'old']]);
    expect(lineDiff('same\n', 'same')).toEqual([[' ', 'same']]);
  });

  it('looks for no common part where that would take long', () => {
    const before = Array.from({ length: 2000 }, (_, index) => `old ${index}`).join('\n');
    const after = Array.from({ length: 2000 }, (_, index) => `new ${index}`).join('\n');
    expect(changedLines(lineDiff(before, after))).toEqual({ added: 2000, removed: 2000 });
    expect(changedLines(lineDiff(`${before}\nsame\nold`, `${after}\nsame\nnew`))).toEqual({
      added: 2002,
      removed: 2002,
    });
  });

  it('looks for it where more is asked for', () => {
    const before = Array.from({ length: 1000 }, (_, index) => `old ${index}`).join('\n');
    const after = Array.from({ length: 1000 }, (_, index) => `new ${index}`).join('\n');
    const lines = lineDiff(`${before}\nsame\nold`, `${after}\nsame\nnew`, 2_000_000);
    expect(changedLines(lines)).toEqual({ added: 1001, removed: 1001 });
  });
});
