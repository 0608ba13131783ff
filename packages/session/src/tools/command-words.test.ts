import { expect, it } from 'vitest';

import { commandWords } from './shell-command.ts';

it.each(['sh', 'git'])('a command of %s may have four mebi characters, and no more', (name) => {
  const longest = 'x'.repeat(4 * 1024 * 1024);
  expect(commandWords(name, longest).kind).toBe('words');
  expect(commandWords(name, `${longest}x`)).toEqual({
    kind: 'unbalanced',
    reason: 'it has more than 4194304 characters',
  });
});
