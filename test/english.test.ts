/** Holds comments and the titles of tests to plain English: an actor, a verb, the usual word. */

import { readdirSync, readFileSync } from 'node:fs';

import { expect, it } from 'vitest';

/** Packages whose comments are still to be mended. Take one out of the list once it has nothing left. */
const unmended = ['guest'];

/** What a comment must not say, and what to write instead. */
const riddles: readonly (readonly [RegExp, string])[] = [
  [/\b(?:told|tells?|telling)\b/i, 'name who reports, sends, shows or distinguishes what'],
  [/\b(?:is|are|was|were) none\b/, 'say what it is: missing, invalid, another one; or "without one"'],
  [/(?:^|[.:;] )Null (?:for|where|until|when|of|in|while|unless)\b/, 'write "Returns null if …", or "Is null if …"'],
];

/** A title that begins with one of these has no subject. */
const noSubject = new RegExp(
  `^(?:is|are|has|have|was|does|do|can|cannot|may|never|of|that|and|adds|answers|asks|begins|calls|carries|changes|checks|closes|comes|compares|
  counts|ends|explains|fails|finds|follows|gives|goes|hears|holds|keeps|leaves|lets|lists|looks|loses|makes|measures|names|offers|opens|parses|
  passes|plays|publishes|puts|reads|refuses|rejects|removes|replays|reports|returns|runs|says|sees|sends|shows|signs|starts|stays|sums|takes|tells|
  throws|uses|waits|works|writes)\\b`.replaceAll(/\s/g, ''),
);

/** Tests in the first column, which no `describe` gives a subject: a quote, then the title. */
const topLevel = /^(?:it|test)(?:\.(?:each|for|skipIf|runIf)\([^]*?\)|\.\w+)?\(\s*(['"`])((?:\\.|(?!\1)[^])*)\1/gm;

function riddlesIn(source: string): string[] {
  return source.split('\n').flatMap((line, index) => {
    const comment = /^\s*\{?(?:\/\*+|\*(?!\/)|\/\/)\s*(.*)/.exec(line)?.[1]?.replaceAll(/`[^`]*`/g, '``') ?? '';
    return riddles.filter(([found]) => found.test(comment)).map(([, hint]) => `${index + 1}: ${comment}: ${hint}`);
  });
}

function titlesWithoutSubject(source: string): string[] {
  return [...source.matchAll(topLevel)]
    .filter(([, , title = '']) => noSubject.test(title))
    .map(({ index, 2: title }) => `${source.slice(0, index).split('\n').length}: ${title}: begin with a subject`);
}

const root = new URL('../', import.meta.url);
const paths = ['packages', 'scripts', 'bench', 'test', 'artifacts']
  .flatMap((top) => readdirSync(new URL(top, root), { recursive: true, encoding: 'utf8' }).map((at) => `${top}/${at}`))
  .filter((path) => /\.[cm]?[jt]sx?$/.test(path) && !path.includes('node_modules/'));
const tests = paths.filter((path) => /\.test\.tsx?$/.test(path));
const sources = paths.filter((path) => /^(?:packages\/[^/]+\/src|scripts|bench)\//.test(path) && !tests.includes(path));

function findings(files: readonly string[], find: (source: string) => string[]): string[] {
  return files.flatMap((path) => find(readFileSync(new URL(path, root), 'utf8')).map((found) => `${path}:${found}`));
}

it('a comment says in usual words who does what', () => {
  const isHeld = (path: string): boolean => !unmended.some((name) => path.startsWith(`packages/${name}/`));
  expect(findings(sources.filter(isHeld), riddlesIn)).toEqual([]);
});

it.each(unmended)('the package %s is left out only while its comments need it', (name) => {
  const own = sources.filter((path) => path.startsWith(`packages/${name}/`));
  expect(findings(own, riddlesIn)).not.toEqual([]);
});

it('the title of a test outside of every describe begins with a subject', () => {
  expect(findings(tests, titlesWithoutSubject)).toEqual([]);
});

it('the patterns find what they are for, and nothing else', () => {
  const bad = ['/** Told of it. */', ' * A link that is none.', '// It ends. Null where it is gone.'];
  expect(bad.flatMap(riddlesIn)).toHaveLength(3);
  expect(['const told = 1;', '/** Is null if gone. */', '// The record `told`.'].flatMap(riddlesIn)).toEqual([]);
  const titles = [
    "it('is x', f)",
    "it.each([\n  ['a'],\n])('takes %s', f)",
    "it(\n  'says x',\n)",
    "it('hooks are x')",
  ];
  expect(titles.flatMap(titlesWithoutSubject).map((found) => found.slice(3, 7))).toEqual(['is x', 'take', 'says']);
});
