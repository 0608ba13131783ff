import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { anyCharacter } from '../../../test/support/any-character.ts';
import { splitWords } from './split-words.ts';

describe('splitting words', () => {
  it.each<[string, string[]]>([
    ['', []],
    ['  \t\n ', []],
    ['status --short', ['status', '--short']],
    [`commit -m 'two words' --author="A B"`, ['commit', '-m', 'two words', '--author=A B']],
    [`'' "" a''b`, ['', '', 'ab']],
    [String.raw`a\ b \"c\" \\`, ['a b', '"c"', '\\']],
    [String.raw`"a\"b\\c\d\n"`, [String.raw`a"b\c\d\n`]],
    [String.raw`'a\b'`, [String.raw`a\b`]],
    ['one\\\ntwo "three\\\nfour"', ['onetwo', 'threefour']],
    ['a\nb\r\nc', ['a', 'b', 'c']],
    [
      '$HOME *.ts | tee > out && rm; `id` $(id) #x ~',
      ['$HOME', '*.ts', '|', 'tee', '>', 'out', '&&', 'rm;', '`id`', '$(id)', '#x', '~'],
    ],
    [`"it's" 'say "hi"'`, ["it's", 'say "hi"']],
  ])('gives the words of %j', (line, words) => {
    expect(splitWords(line)).toEqual({ kind: 'words', words });
  });

  it.each([
    [`"open`, 'a " is not closed'],
    [`it's`, "a ' is not closed"],
    ['a\\', 'the line ends with a backslash'],
    ['"a\\', 'the line ends with a backslash'],
  ])('refuses the unbalanced %j', (line, reason) => {
    expect(splitWords(line)).toEqual({ kind: 'unbalanced', reason });
  });

  it('takes a long word a run at a time, not by its characters', () => {
    const line = `'${'x'.repeat(2_000_000)}'y ${'z'.repeat(2_000_000)}`;
    const before = process.memoryUsage().heapUsed;
    const split = splitWords(line);
    // A string of two million joined characters takes 64 MB and more.
    expect(process.memoryUsage().heapUsed - before).toBeLessThan(16 * 1024 * 1024);
    expect(split).toEqual({ kind: 'words', words: [`${'x'.repeat(2_000_000)}y`, 'z'.repeat(2_000_000)] });
  });

  it('gives back any words that were quoted', () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: anyCharacter })), (words) => {
        const line = words.map((word) => `'${word.replaceAll("'", String.raw`'\''`)}'`).join(' ');
        expect(splitWords(line)).toEqual({ kind: 'words', words });
      }),
    );
  });
});
