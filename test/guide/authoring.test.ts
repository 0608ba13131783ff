import { readFileSync } from 'node:fs';

import { afterAll, describe, expect, it } from 'vitest';

import { follow } from './follow.ts';
import { sectionsOf } from './listings.ts';
import { Reader } from './reader.ts';

const guide = readFileSync(new URL('../../docs/authoring.md', import.meta.url), 'utf8');
const sections = sectionsOf(guide);

describe('docs/authoring.md', () => {
  const reader = new Reader();
  afterAll(async () => reader.remove());

  it('has listings in each of these sections', () => {
    expect(sections.map(({ title }) => title)).toEqual([
      'A capsule to try them in',
      'A tool',
      'A hook',
      'A driver',
      'A tool that is a program',
      'Looking inside',
      'When something is wrong',
    ]);
  });

  // In the order of the guide: what one section leaves behind, the next one uses.
  it.each(sections)('$title', { timeout: 120_000 }, async ({ listings }) => {
    for (const listing of listings) expect(await follow(reader, listing)).toBeNull();
  });
});
