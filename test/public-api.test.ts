import { fileURLToPath } from 'node:url';

import { describe, expect, it } from 'vitest';

import { publishedPackages } from '../scripts/build-packages.mjs';
import { publicApi } from './support/public-api.ts';

/** A change of these files is a change for users, which belongs into `CHANGELOG.md`. */
describe('what users can import (npx vitest run test/public-api.test.ts -u writes it anew)', () => {
  it.each(publishedPackages)('equals, for %s, packages/%s/api.txt', async (name) => {
    const file = fileURLToPath(new URL(`../packages/${name}/api.txt`, import.meta.url));
    await expect(publicApi(name)).toMatchFileSnapshot(file);
  });
});
