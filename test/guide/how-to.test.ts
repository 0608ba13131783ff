/** Follows docs/how-to.md in the folder of a capsule that plays a script. */

import { readFileSync } from 'node:fs';

import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { follow } from './follow.ts';
import { sectionsOf } from './listings.ts';
import { Reader } from './reader.ts';

const sections = sectionsOf(readFileSync(new URL('../../docs/how-to.md', import.meta.url), 'utf8'));

describe('docs/how-to.md', { timeout: 120_000 }, () => {
  const reader = new Reader();
  beforeAll(() => {
    reader.take(new URL('../../packages/svc/templates/capsule', import.meta.url).pathname);
    const manifest = readFileSync(`${reader.folder}/svc.yaml`, 'utf8');
    reader.write('svc.yaml', manifest.replace('{{name}}', 'greeter'));
  });
  afterAll(async () => reader.remove());

  it('has a listing in each section', () => {
    expect(sections.map(({ listings }) => listings.length)).toEqual(Array.from({ length: 7 }, () => 1));
  });

  // In the order of the page: what one section leaves behind, the next one uses.
  it.each(sections)('$title', async ({ listings }) => {
    for (const listing of listings) expect(await follow(reader, listing)).toBeNull();
  });
});
