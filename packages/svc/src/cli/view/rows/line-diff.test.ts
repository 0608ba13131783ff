import { describe, expect, it } from 'vitest';

import { changeOf } from './file-edit.ts';
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
  });
});

describe('the change of a call', () => {
  it.each([
    [
      { arguments: { command: 'patch', path: 'a', old_text: 'x', new_text: 'y' } },
      { path: 'a', before: 'x', after: 'y' },
    ],
    [{ arguments: { command: 'write', path: 'a', content: 'y' } }, { path: 'a', before: '', after: 'y' }],
    [{ arguments: { command: 'read', path: 'a', content: 'y' } }, null],
    [{ arguments: { command: 'patch', path: 'a', old_text: 'x', new_text: 'y' }, is_error: true }, null],
    [{ arguments: { command: 'patch', path: 7, old_text: 'x', new_text: 'y' } }, null],
    [{ arguments: 'write' }, null],
  ])('of %j is %j', (event, change) => {
    expect(changeOf(event)).toEqual(change);
  });
});
