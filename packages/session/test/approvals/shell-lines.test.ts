import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { describe, expect, it, onTestFinished } from 'vitest';

import { commandsOfLine } from '../../src/approvals/shell-line.ts';
import { misunderstood, ToldPrograms } from './shells.ts';

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), 'shells-'));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

describe('a line of a shell', () => {
  it.each([
    ['git status', [['git', 'status']]],
    ['  git   push origin main  ', [['git', 'push', 'origin', 'main']]],
    [`git commit -m 'a $x; b' -m "c d"`, [['git', 'commit', '-m', 'a $x; b', '-m', 'c d']]],
    ['a && b || git; x-y | a;', [['a'], ['b'], ['git'], ['x-y'], ['a']]],
    [`gi"t" ''p --x=1`, [['git', 'p', '--x=1']]],
    [`a ''`, [['a', '']]],
  ])('%s starts what its words say', (line, commands) => {
    expect(commandsOfLine(line)).toEqual(commands);
    const told = new ToldPrograms(folder());
    const started = told.startedBy('/bin/dash', line);
    for (const words of started) expect(commands).toContainEqual(words);
  });

  it.each([
    '',
    ' ',
    ';',
    'a;;',
    'a &',
    'a |& b',
    'a && ',
    '| a',
    'a ; ; b',
    'a\nb',
    'a\tb',
    'a # b',
    'a $x',
    'a `b`',
    'a "$x"',
    'a \\x',
    'a *',
    'a ?',
    'a [b]',
    'a {b,c}',
    'a ~',
    'a > f',
    'a < f',
    '(a)',
    'a é',

    'x=1 a',
    'x=1',
    'PATH=. git',
    '=a',
    '%1',
    `"cd" /`,
    'cd /; a',
    'eval a',
    '. ./a',
    'exec a',
    'time a',
    '! a',
    '{ a',
    'if a',
    'printf -v PATH x; git',
    `test -v 'a[$(b)]'`,
    `'' a`,
    `"a`,
    `'a`,
    'alias git=x; git',
    'a =b',
    'command a',
  ])('%j is not understood', (line) => {
    expect(commandsOfLine(line)).toBeNull();
  });

  it('means nothing beyond 64 KiB', () => {
    expect(commandsOfLine(`a ${'b'.repeat(64 * 1024 - 2)}`)).toHaveLength(1);
    expect(commandsOfLine(`a ${'b'.repeat(64 * 1024)}`)).toBeNull();
  });

  it('starts nothing in dash or bash but what was understood', { timeout: 300_000 }, () => {
    const { wrong, understood } = misunderstood(folder(), 500);
    expect(wrong).toEqual([]);
    expect(understood).toBeGreaterThan(30);
  });
});
