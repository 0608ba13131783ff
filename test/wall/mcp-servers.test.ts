import { describe, expect, it } from 'vitest';

import { mcpServer, mcpServerFile, play } from './play-mcp-server.ts';
import { casesOf, readWall, wordsOf } from './read-wall.ts';

/** The same bytes whole, and one at a time, in the middle of a character too. */
const cuts = {
  whole: (bytes: Buffer) => [bytes],
  split: (bytes: Buffer) => Array.from(bytes, (byte) => Buffer.of(byte)),
};

describe.each(readWall('mcp-servers', mcpServerFile))('%s', (_name, file) => {
  it.each(casesOf(file.servers, mcpServer))('%s', async (_, given) => {
    expect(given.seen ?? given.failure ?? given.unusable).toBeDefined();
    for (const cut of Object.values(cuts)) {
      const { seen, failure, unusable, hears } = await play(given, cut);
      if (given.seen !== undefined) {
        const { description, left_out: leftOut = [], ...rest } = given.seen;
        expect(seen).toMatchObject({
          absent: undefined,
          ...rest,
          left_out: leftOut.map((each) => expect.stringMatching(wordsOf(each))),
        });
        if (description !== undefined) expect(seen?.description).toMatch(wordsOf(description));
      }
      expect(unusable ?? '').toMatch(wordsOf(given.unusable));
      expect(failure ?? '').toMatch(wordsOf(given.failure));
      expect(hears).toMatchObject(given.hears ?? []);
      expect(hears).toHaveLength(given.hears?.length ?? 0);
    }
  });
});
