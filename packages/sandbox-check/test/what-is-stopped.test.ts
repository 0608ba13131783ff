import { readFileSync } from 'node:fs';

import { describe, expect, it } from 'vitest';

import { unstopped } from '@svc/sandbox/library/explain.ts';
import { containmentClasses } from '@svc/protocol/containment-class.ts';
import { allAttempts } from '../src/attempt-suite.ts';
import type { Attempt } from '../src/attempt.ts';

/** What is claimed of the sandbox in words is what its attempts are promised to come to, which other tests hold the kernel to. */
const readme = readFileSync(new URL('../../sandbox/README.md', import.meta.url), 'utf8');

function attemptNamed(name: string): Attempt {
  const found = allAttempts.find((attempt) => attempt.name === name);
  if (found === undefined) throw new Error(`no attempt is called ${name}`);
  return found;
}

/** The rows of the table by what is tried: a cell for each class, weakest first, and the names of attempts. */
const rows = readme
  .split('\n')
  .filter((line) => /^\| .* \| (?:possible|stopped) \| /.test(line))
  .map((line) => line.split('|').map((cell) => cell.trim()))
  .map(([, tried = '', advisory, scoped, sealed, shownBy = '']) => ({
    tried,
    cells: [advisory, scoped, sealed],
    names: [...shownBy.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name),
  }));

describe('the table of the README of the sandbox', () => {
  it('has a row for each kind of attempt', () => {
    expect(rows.length).toBe(17);
  });

  it.each(rows)('says of "$tried" what its attempts are promised to come to', ({ cells, names }) => {
    expect(names).not.toEqual([]);
    for (const name of names) {
      const { promises } = attemptNamed(name);
      const promised = containmentClasses.map((each) =>
        promises[each] === 'stopped' || promises[each] === 'killed' ? 'stopped' : 'possible',
      );
      expect([name, ...promised]).toEqual([name, ...cells]);
    }
  });
});

describe('the list of explain of what is not stopped', () => {
  const shown = unstopped.flatMap(({ text, shownBy, classes }) => shownBy.map((name) => ({ text, name, classes })));

  it.each(shown)('has its proof in $name: $text', ({ name, classes }) => {
    const { promises } = attemptNamed(name);
    expect(classes.map((each) => promises[each] === 'open' || promises[each] === 'works')).toEqual(
      classes.map(() => true),
    );
  });

  it('leaves out no class in which such an attempt succeeds, where it is about files, programs or processes', () => {
    const missing = shown.flatMap(({ name, text }) =>
      containmentClasses
        .filter((each) => attemptNamed(name).promises[each] === 'open')
        .filter((each) => !unstopped.some(({ shownBy, classes }) => shownBy.includes(name) && classes.includes(each)))
        .map((each) => `${each}: ${name} (${text})`),
    );
    // In advisory the first sentence says more than these.
    expect(missing.filter((each) => !each.startsWith('advisory: '))).toEqual([]);
  });
});
