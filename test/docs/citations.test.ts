import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { describe, expect, it } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));
const folders = ['artifacts', 'bench', 'docs', 'native', 'packages', 'scripts', 'test'];
const decisions = new Set(readdirSync(join(root, 'docs', 'adr')).map((name) => Number.parseInt(name, 10)));

/** Paths of what people write in these folders. */
const sources = folders.flatMap((folder) =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((path) => /\.(ts|mjs|cjs|c|h|md|wit|yaml)$/.test(path) && !/(^|\/)(node_modules|engine)\//.test(path))
    .map((path) => `${folder}/${path}`),
);

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
  const records = [...line.matchAll(/\bADRs? (\d+)/g)];
  return [
    ...pages.flatMap(([citation, page = '', heading = '']) =>
      headingsOf(page)?.includes(heading.replaceAll('`', '')) === true ? [] : [citation],
    ),
    ...records.flatMap(([citation, number]) => (decisions.has(Number(number)) ? [] : [citation])),
    ...[...line.matchAll(/\bcontracts\s§\d*/g)].map(([citation]) => citation),
  ];
}

describe('a citation in the sources', () => {
  it('names a page and heading of docs/ or a decision that exists', () => {
    const found = sources.flatMap((path) =>
      unresolved(readFileSync(join(root, path), 'utf8')).map((citation) => `${path}: ${citation}`),
    );
    expect(found).toEqual([]);
  });

  it('is found where a comment is broken within it', () => {
    const page = 'docs/protocol.md';
    expect(unresolved(`/**\n * Says so (${page} "Event\n * ids", ADR\n * 0016).\n */`)).toEqual([]);
    const wrong = [
      `${page} "No such heading"`,
      `${page.replace('protocol', 'none')} "Keys"`,
      ['ADR', '9999'].join(' '),
    ];
    expect(unresolved(` * (${wrong.join(', ')})`)).toEqual(wrong);
  });
});
