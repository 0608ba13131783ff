import { describe, expect, it } from 'vitest';

import { terminalOf } from './terminal-kind.ts';

describe('a row of svc on a terminal', () => {
  const terminal = terminalOf({ TERM: 'xterm', LANG: 'C.UTF-8' });

  it.each([
    ['0123456789 the end', 10, '0123456789\n  the end'],
    ['one two three four', 13, 'one two three\n  four'],
    ['one two three four', 12, 'one two\n  three four'],
  ])('of %j loses no word and joins none in %i columns', (row, columns, rows) => {
    expect(terminal.wrapped(row, columns)).toBe(rows);
  });
});
