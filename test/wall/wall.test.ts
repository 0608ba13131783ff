import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';

import { eachOf, play, providerFile, type ProviderAnswer } from './play-provider.ts';

const folder = join(import.meta.dirname, 'providers');

const files = readdirSync(folder).map((name) => {
  const { source, api, answers } = providerFile.parse(parse(readFileSync(join(folder, name), 'utf8')));
  return { source, api, name, answers: Object.entries(answers).flatMap(([title, given]) => eachOf(title, given)) };
});

/** The same bytes whole, and a character at a time. */
const cuts = { whole: (body: string) => [body], split: (body: string) => body.split('') };

describe.each(files)('what $source send: $name', ({ api, answers }) => {
  it.each(answers)('%s', async (_, given) => {
    for (const cut of Object.values(cuts)) {
      for (const { seen, failure, requests, sleptMs } of await play(api, given, cut)) {
        if (given.seen !== undefined) expect(seen).toEqual({ stop: seen?.stop, ...given.seen });
        expect(failure ?? '').toMatch(patternOf(given));
        expect(requests).toBe(given.again === true ? 2 : 1);
        if (given.waits_ms !== undefined) expect(sleptMs).toEqual([given.waits_ms]);
      }
    }
  });
});

/** Fits only the words of the expected failure; without one it fits the empty text. */
function patternOf({ failure = '' }: ProviderAnswer): RegExp {
  const [, pattern] = /^\/(.*)\/$/s.exec(failure) ?? [];
  return new RegExp(pattern ?? `^${failure.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`)}$`);
}
