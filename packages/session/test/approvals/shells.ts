/** Runs lines in shells whose programs only say with which words they were started. */

import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import fc from 'fast-check';

import { commandsOfLine } from '../../src/approvals/shell-line.ts';

const programs = ['a', 'b', 'git', 'x-y'];

/** Programs of a shell whose only path this is. */
export class ToldPrograms {
  readonly #folder: string;
  readonly #told: string;

  constructor(folder: string) {
    this.#folder = folder;
    this.#told = join(folder, 'told');
    mkdirSync(join(folder, 'bin'));
    mkdirSync(join(folder, 'cwd'));
    for (const name of programs) {
      const path = join(folder, 'bin', name);
      // One write for each, since both ends of a pipe run at once.
      writeFileSync(path, `#!/bin/sh\nprintf '%s\\037' "\n\${0##*/}" "$@" >> '${this.#told}'\n`);
      chmodSync(path, 0o755);
    }
  }

  /** What the line starts, each as its words. */
  startedBy(shell: string, line: string): readonly (readonly string[])[] {
    writeFileSync(this.#told, '');
    spawnSync(shell, ['-c', line], {
      cwd: join(this.#folder, 'cwd'),
      env: { PATH: join(this.#folder, 'bin') },
      stdio: 'ignore',
      timeout: 20_000,
    });
    const told = readFileSync(this.#told, 'utf8');
    return told.split('\x1f\n').flatMap((text, index) => {
      const start = index === 0 ? text.slice(1) : text;
      return start === '' ? [] : [start.split('\x1f').filter((word, at, all) => at < all.length - 1 || word !== '')];
    });
  }
}

/** Pieces of lines: words, all that means something to a shell, and blanks. */
const pieces = [
  ...programs,

  'push',
  '-f',
  '--x=1',
  'echo',
  'true',
  'false',
  'cd',
  'eval',
  'if',
  'time',
  '.',
  ':',
  'test',
  'exec',
  '%1',
  'a=b',
  ' ',
  ' ',
  ' ',
  ' ',
  '; ',
  ' && ',
  ' || ',
  ' | ',
  '&',
  ';;',
  '|&',
  '\n',
  '\t',
  '#',
  '!',
  '~',
  '*',
  '?',
  '[',
  ']',
  '{',
  '}',
  '(',
  ')',
  '$',
  '$(a)',
  '`a`',
  '\\',
  '>',
  '<',
  '>f',
  '2>&1',
  '"',
  "'",
  "'a b'",
  '"a b"',
  '"',
  "''",
  '""',
  'é',
];

export const lines: fc.Arbitrary<string> = fc
  .array(fc.oneof({ weight: 3, arbitrary: fc.constantFrom(...pieces.slice(0, 29)) }, fc.constantFrom(...pieces)), {
    minLength: 1,
    maxLength: 9,
  })
  .map((parts) => parts.join(''));

/** Lines that are understood and in which a shell started something else than was understood. */
export function misunderstood(
  folder: string,
  count: number,
): { readonly wrong: readonly string[]; readonly understood: number } {
  const told = new ToldPrograms(folder);
  const wrong: string[] = [];
  let understood = 0;
  for (const line of fc.sample(lines, { numRuns: count, seed: 41 })) {
    const commands = commandsOfLine(line);
    if (commands === null) continue;
    understood += 1;
    const known = new Set(commands.map((words) => JSON.stringify(words)));
    for (const shell of ['/bin/dash', '/bin/bash']) {
      const started = told.startedBy(shell, line);
      if (!started.every((words) => known.has(JSON.stringify(words)))) wrong.push(`${shell}: ${line}`);
    }
  }
  return { wrong, understood };
}
