import { describe, expect, it } from 'vitest';

import { play, registry, registryFile } from './play-registry.ts';
import { casesOf, readWall, wordsOf } from './read-wall.ts';

describe.each(readWall('registries', registryFile))('%s', (_name, file) => {
  it.each(casesOf(file.registries, registry))('%s', async (_, given) => {
    const { seen, hint, asked } = await play(given);
    expect(seen).toMatch(wordsOf(given.seen));
    if (given.hint !== undefined) expect(hint).toMatch(wordsOf(given.hint));
    for (const line of given.asks ?? []) expect(asked).toContainEqual(expect.stringMatching(wordsOf(line)));
    for (const line of given.never_asks ?? []) expect(asked).not.toContainEqual(expect.stringMatching(wordsOf(line)));
  });
});
