import { describe, expect, it } from 'vitest';

import { changeOf } from './file-edit.ts';

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
  ])('for %j gives %j', (event, change) => {
    expect(changeOf(event)).toEqual(change);
  });
});
