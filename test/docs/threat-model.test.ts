import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { describe, expect, it } from 'vitest';

const path = fileURLToPath(new URL('../../docs/threat-model.md', import.meta.url));
const page = readFileSync(path, 'utf8');
const sections = page
  .split(/^## /m)
  .slice(1)
  .map((text) => ({ title: text.split('\n')[0] ?? '', text }))
  .filter(({ title }) => title !== 'What is not looked at');
const promises = sections.flatMap(({ title, text }) =>
  [...text.matchAll(/^\| (?!Promised|-)(.*) \| (.*) \|$/gm)].map(([, promise = '', shown = '']) => ({
    title,
    promise,
    shown,
  })),
);

/** Files that are linked to, from where the page is. */
function linked(text: string): string[] {
  return [...text.matchAll(/\]\(([^)#]+)(?:#[^)]*)?\)/g)].map(([, target = '']) => join(dirname(path), target));
}

/** The sentences of headings, paragraphs, list items and table cells. Of a link its text is left, and of code one word. */
function sentencesOf(markdown: string): readonly string[] {
  const text = markdown
    .replaceAll(/`[^`]*`/g, 'code')
    .replaceAll(/\]\([^)]*\)|[[*]/g, '')
    .replaceAll(/\n\n|^- |\|/gm, '\0')
    .replaceAll(/\s+/g, ' ');
  return text.split(/\0|(?<=[.?!]) /).map((part) => part.trim());
}

describe('the threat model', () => {
  it('has sentences of at most 20 words', () => {
    const long = sentencesOf(page).filter((sentence) => sentence.split(' ').length > 20);
    expect(long).toEqual([]);
  });

  it('says who is hostile, and of each what is promised and what is not', () => {
    expect(sections.map(({ title }) => title)).toEqual([
      'The model, and all text that reaches it',
      'Components: tools, drivers and hooks in WebAssembly',
      'Programs: shell commands, native tools, MCP servers, drivers',
      'Web pages, other hosts and whoever is on the network',
      'Other users of the same machine',
      'Other capsules',
      'Whoever publishes what you install',
    ]);
    for (const { title, text } of sections) {
      expect(
        promises.some((promise) => promise.title === title),
        title,
      ).toBe(true);
      expect(text, title).toContain('\n**Not promised.** ');
    }
  });

  it.each(promises)('shows "$promise" by a test or a page that is there', ({ promise, shown }) => {
    const files = [...linked(promise), ...linked(shown)];
    expect(files).not.toEqual([]);
    for (const file of files) {
      expect(existsSync(file), file).toBe(true);
      if (file.endsWith('.test.ts')) expect(readFileSync(file, 'utf8'), file).toMatch(/^\s*(it|describe)\b/m);
    }
  });
});
