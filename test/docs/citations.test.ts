import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { describe, expect, it } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));
const folders = ['artifacts', 'bench', 'docs', 'examples', 'native', 'packages', 'scripts', 'test'];
const decisions = readdirSync(join(root, 'docs', 'adr'));

/** Paths of what people write in these folders, and of the pages in the root. */
const sources = [
  ...readdirSync(root).filter((name) => name.endsWith('.md')),
  ...folders.flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter(
        (path) => /\.(ts|mjs|cjs|c|h|md|wit|yaml)$/.test(path) && !/(^|\/)(node_modules|engine|dist)\//.test(path),
      )
      .map((path) => `${folder}/${path}`),
  ),
];

/** A text as one line: comments are broken where they are long. */
function unbroken(text: string): string {
  return text.replaceAll(/\n[ \t]*(?:\*|\/\/)? ?/g, ' ');
}

/** The headings of a page without their marks, as citations spell them; null where there is no such page. */
function headingsOf(page: string): readonly string[] | null {
  if (!sources.includes(page)) return null;
  const headings = readFileSync(join(root, page), 'utf8').matchAll(/^#{1,6} (.+)$/gm);
  return [...headings].map(([, heading = '']) => heading.replaceAll('`', ''));
}

/** What a text cites and nobody can look up. */
function unresolved(text: string): readonly string[] {
  const line = unbroken(text);
  const pages = [...line.matchAll(/(docs\/[\w/-]+\.md) "([^"]+)"/g)];
  return [
    ...pages.flatMap(([citation, page = '', heading = '']) =>
      headingsOf(page)?.includes(heading.replaceAll('`', '')) === true ? [] : [citation],
    ),
    ...[...line.matchAll(/\b(?:ADRs? \d+|contracts\s§\d*)/g)].map(([citation]) => citation),
  ];
}

/** The address of a heading within its page, as links spell it. */
function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}_ -]/gu, '')
    .replaceAll(' ', '-');
}

/** Links of a page to pages or headings that do not exist. */
function deadLinks(page: string, text: string): readonly string[] {
  return [...text.matchAll(/\]\((?!\w+:)([^)#]*\.md)?(?:#([^)]*))?\)/g)].flatMap(([link, target, anchor]) => {
    const headings = headingsOf(target === undefined ? page : join(dirname(page), target));
    const isThere = headings !== null && (anchor === undefined || headings.map(anchorOf).includes(anchor));
    return isThere ? [] : [link];
  });
}

describe('a citation in the sources', () => {
  it('names a page and heading of docs/ that exist', () => {
    const found = sources.flatMap((path) =>
      unresolved(readFileSync(join(root, path), 'utf8')).map((citation) => `${path}: ${citation}`),
    );
    expect(found).toEqual([]);
  });

  it('counts where a comment is broken within it', () => {
    const page = 'docs/protocol.md';
    expect(unresolved(`/**\n * Says so (${page} "Event\n * ids").\n */`)).toEqual([]);
    const wrong = [
      `${page} "No such heading"`,
      `${page.replace('protocol', 'none')} "Keys"`,
      ['ADR', '9999'].join(' '),
    ];
    expect(unresolved(` * (${wrong.join(', ')})`)).toEqual(wrong);
  });
});

describe('a link in a page', () => {
  it('leads to a page and heading that exist', () => {
    const pages = sources.filter((path) => path.endsWith('.md'));
    const dead = pages.flatMap((page) =>
      deadLinks(page, readFileSync(join(root, page), 'utf8')).map((link) => `${page}: ${link}`),
    );
    expect(dead).toEqual([]);
  });

  it('fails without its page or heading', () => {
    const links = ['(../README.md)', '(none.md)', '(protocol.md#event-ids)', '(protocol.md#none)', '(#none)'];
    const text = links.map((link) => `[a]${link}`).join(' ');
    expect(deadLinks('docs/cli.md', text)).toEqual(['](none.md)', '](protocol.md#none)', '](#none)']);
  });
});

describe('a page of decisions', () => {
  it('has at most 1,000 words, and a line in their README', () => {
    const listed = readFileSync(join(root, 'docs/adr/README.md'), 'utf8').matchAll(/\]\(([\w-]+\.md)\)/g);
    expect(new Set([...listed].map(([, name]) => name).concat('README.md'))).toEqual(new Set(decisions));
    const long = decisions.filter(
      (name) =>
        readFileSync(join(root, 'docs/adr', name), 'utf8')
          .trim()
          .split(/\s+/).length > 1_000,
    );
    expect(long).toEqual([]);
  });
});
