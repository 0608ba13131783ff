import { describe, expect, it } from 'vitest';

import { play, providerAnswer, providerFile } from './play-provider.ts';
import { casesOf, readWall, wordsOf } from './read-wall.ts';

/** The same bytes whole, and a character at a time. */
const cuts = { whole: (body: string) => [body], split: (body: string) => body.split('') };

describe.each(readWall('providers', providerFile))('%s', (_name, { api, answers }) => {
  it.each(casesOf(answers, providerAnswer))('%s', async (_, given) => {
    for (const cut of Object.values(cuts)) {
      for (const { seen, failure, requests, sleptMs } of await play(api, given, cut)) {
        if (given.seen !== undefined) expect(seen).toEqual({ stop: seen?.stop, ...given.seen });
        expect(failure ?? '').toMatch(wordsOf(given.failure));
        expect(requests).toBe(given.again === true ? 2 : 1);
        if (given.waits_ms !== undefined) expect(sleptMs).toEqual([given.waits_ms]);
      }
    }
  });
});
