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
  [/\bwhom?ever\b/i, 'name the party: the caller, the client, the operator, …'],
  [/\b(?:but for|save for)\b/, 'write "except for"'],
  [/\bnothing but\b/, 'write "only"'],
  [/\b(?:null|undefined|empty|-1|Infinity) for none\b/i, 'write "null without one"'],
  [/^Of /, 'begin with the noun that the name stands for: "The bytes of …"'],
  [/^(?:One that|Those (?:that|of)|That of)\b/, 'begin with the noun: "A task that …", "The rows of …"'],
  [/\b(?:that which|to be had)\b/i, 'say it with a verb'],
  [
    /\bof which (?:no|none|nothing|nobody|one|each|every|all|some|many|most|few)\b/,
    'begin another sentence: "Each …", "None …"',
  ],
];

/** A title that begins with one of these has no subject. */
const noSubject = new RegExp(
  `^(?:is|are|has|have|was|does|do|can|cannot|may|never|of|that|and|adds|answers|asks|begins|calls|carries|changes|checks|closes|comes|compares|
  counts|ends|explains|fails|finds|follows|gives|goes|hears|holds|keeps|leaves|lets|lists|looks|loses|makes|measures|names|offers|opens|parses|
  passes|plays|publishes|puts|reads|refuses|rejects|removes|replays|reports|returns|runs|says|sees|sends|shows|signs|starts|stays|sums|takes|tells|
  throws|uses|waits|works|writes)\\b`.replaceAll(/\s/g, ''),
);

/** A title that begins with one of these says nothing active of what its `describe` names. */
const noVerb = /^(?:is|are|was|were|be|of|that|and|but|or|none|told|tells?|hears?)\b/;

/** The place of a test in its file, then a quote, then its title. Tests in the first column have no `describe` that gives them a subject. */
const call = String.raw`(?:it|test)(?:\.(?:each|for|skipIf|runIf)(?:<[^]*?>)?\([^]*?\)|\.\w+)?\(\s*(['"\`])((?:\\.|(?!\1)[^])*)\1`;
const topLevel = new RegExp(`^${call}`, 'gm');
const within = new RegExp(`^ +${call}`, 'gm');

function riddlesIn(source: string): string[] {
  return source.split('\n').flatMap((line, index) => {
    const comment = /^\s*\{?(?:\/\*+|\*(?!\/)|\/\/)\s*(.*)/.exec(line)?.[1]?.replaceAll(/`[^`]*`/g, '``') ?? '';
    return riddles.filter(([found]) => found.test(comment)).map(([, hint]) => `${index + 1}: ${comment}: ${hint}`);
  });
}

function titlesLike(begins: RegExp, place: RegExp, hint: string): (source: string) => string[] {
  return (source) =>
    [...source.matchAll(place)]
      .filter(([, , title = '']) => begins.test(title))
      .map(({ index, 2: title }) => `${source.slice(0, index).split('\n').length}: ${title}: ${hint}`);
}

const titlesWithoutSubject = titlesLike(noSubject, topLevel, 'begin with a subject');
const titlesWithoutVerb = titlesLike(noVerb, within, 'say with an active verb what the subject of the describe does');

const root = new URL('../', import.meta.url);
const paths = ['packages', 'scripts', 'bench', 'test', 'artifacts']
  .flatMap((top) => readdirSync(new URL(top, root), { recursive: true, encoding: 'utf8' }).map((at) => `${top}/${at}`))
  .filter((path) => /\.[cm]?[jt]sx?$/.test(path) && !/\b(?:node_modules|dist)\//.test(path));
const tests = paths.filter((path) => /\.test\.tsx?$/.test(path));
const isHeld = (path: string): boolean => !unmended.some((name) => path.startsWith(`packages/${name}/`));
const sources = paths.filter((path) => /^(?:packages\/[^/]+\/src|scripts|bench)\//.test(path) && !tests.includes(path));

function findings(files: readonly string[], find: (source: string) => string[]): string[] {
  return files.flatMap((path) => find(readFileSync(new URL(path, root), 'utf8')).map((found) => `${path}:${found}`));
}

it('a comment says in usual words who does what', () => {
  expect(findings(paths.filter(isHeld), riddlesIn)).toEqual([]);
});

it.each(unmended)('the package %s is left out only while its comments need it', (name) => {
  const own = sources.filter((path) => path.startsWith(`packages/${name}/`));
  expect(findings(own, riddlesIn)).not.toEqual([]);
});

it('the title of a test outside of every describe begins with a subject', () => {
  expect(findings(tests, titlesWithoutSubject)).toEqual([]);
});

it('the title of a test and that of its describe read as one sentence', () => {
  expect(findings(tests.filter(isHeld), titlesWithoutVerb)).toEqual([]);
});

it('the patterns find what they are for, and nothing else', () => {
  const bad = ['/** Told of it. */', ' * A link that is none.', '// It ends. Null where it is gone.'];
  expect(bad.flatMap(riddlesIn)).toHaveLength(3);
  expect(['const told = 1;', '/** Is null if gone. */', '// The record `told`.'].flatMap(riddlesIn)).toEqual([]);
  const words = [
    '// Whoever asks.',
    '// All but for it.',
    '// It has nothing but x.',
    '// That which is.',
    '// Five, of which one fails.',
    '/** The task; null for none. */',
    '  /** Of the session. */',
    '// One that has ended is gone.',
  ];
  expect(words.flatMap(riddlesIn)).toHaveLength(8);
  const titles = [
    "it('is x', f)",
    "it.each([\n  ['a'],\n])('takes %s', f)",
    "it(\n  'says x',\n)",
    "it('hooks are x')",
  ];
  expect(titles.flatMap(titlesWithoutSubject).map((found) => found.slice(3, 7))).toEqual(['is x', 'take', 'says']);
  const nested = [
    "  it('is x', f)",
    "  it.each<[string, () => void]>([\n  ])('are x', f)",
    "  it('of x is y', f)",
    "  it('says x', f)",
    "it('is top', f)",
  ];
  expect(nested.flatMap(titlesWithoutVerb).map((found) => found.slice(3, 7))).toEqual(['is x', 'are ', 'of x']);
});
