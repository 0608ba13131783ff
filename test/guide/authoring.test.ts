import { readFileSync } from 'node:fs';

import { afterAll, describe, expect, it } from 'vitest';

import { type Listing, sectionsOf, shownAs } from './listings.ts';
import { type Ended, Reader } from './reader.ts';

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

/** Does what a reader does with a listing. Null when it went as the guide says, else what happened. */
async function follow(reader: Reader, listing: Listing): Promise<string | null> {
  switch (listing.kind) {
    case 'file':
      reader.write(listing.path, listing.text);
      return null;
    case 'other-ended':
      return difference(await reader.otherEnded(), { fails: false, output: listing.output });
    case 'commands':
      if (listing.terminal === 'own') return difference(await reader.type(listing), listing);
      await reader.typeUntilShown(listing);
      return null;
  }
}

interface Shown {
  readonly fails: boolean;
  readonly output: string | null;
}

function difference({ code, output }: Ended, { fails, output: shown }: Shown): string | null {
  const isAsShown = shown === null || new RegExp(`^${shownAs(shown).source}$`).test(output.trim());
  if (isAsShown && (code !== 0) === fails) return null;
  return `exit code ${code} and:\n${output}\ninstead of:\n${shown ?? ''}`;
}
