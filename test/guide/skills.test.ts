import { readFileSync } from 'node:fs';

import { afterAll, describe, expect, it } from 'vitest';

import { follow } from './follow.ts';
import { sectionsOf } from './listings.ts';
import { Reader } from './reader.ts';

const sections = sectionsOf(readFileSync(new URL('../../docs/skills.md', import.meta.url), 'utf8'));

describe('docs/skills.md', () => {
  const reader = new Reader();
  afterAll(async () => reader.remove());

  it('has listings in each of these sections', () => {
    expect(sections.map(({ title }) => title)).toEqual(['A folder with a script', 'A skill by its name']);
  });

  // In the order of the page: what one section leaves behind, the next one uses.
  it.each(sections)('$title', { timeout: 120_000 }, async ({ listings }) => {
    for (const listing of listings) expect(await follow(reader, listing)).toBeNull();
  });
});
