import { fileURLToPath } from 'node:url';

import { describe, expect, it } from 'vitest';

import { publishedPackages } from '../scripts/build-packages.mjs';
import { publicApi } from './support/public-api.ts';

/** A change of these files is a change for users, which belongs into `CHANGELOG.md`. */
describe('what users can import (npx vitest run test/public-api.test.ts -u writes it anew)', () => {
  it.each(publishedPackages)('of %s is what packages/%s/api.txt has', async (name) => {
    const file = fileURLToPath(new URL(`../packages/${name}/api.txt`, import.meta.url));
    await expect(publicApi(name)).toMatchFileSnapshot(file);
  });
});
