import { describe, expect, it } from 'vitest';

import { heldAnswers } from './held-answers.ts';

async function gzip(lines: readonly string[]): Promise<string> {
  const text = lines.map((each) => `${each}\n`).join('');
  const bytes = await new Response(new Blob([text]).stream().pipeThrough(new CompressionStream('gzip'))).arrayBuffer();
  return Buffer.from(bytes).toString('base64');
}

type Ask = (path: string) => Promise<unknown>;

async function held({
  lines = [],
  answers = [],
}: {
  readonly lines?: readonly string[];
  readonly answers?: readonly string[];
}): Promise<Ask> {
  return heldAnswers({ kind: 'held', rows: '', lines: await gzip(lines), answers: await gzip(answers) });
}

/** A step whose line holds the words. */
const step = (words: string): string =>
  JSON.stringify({ eventId: `evt_${words.slice(0, 9)}`, line: { kind: 'text', text: JSON.stringify({ words }) } });

/** Each is as much as is looked through in one turn. */
const longLines = Array.from({ length: 6 }, (_, at) => step(`a${at} ${'x'.repeat(2 * 1024 * 1024)}`));

describe('what a page holds', () => {
  it('stays there beside a line that is no JSON', async () => {
    const ask = await held({
      lines: [step('one'), '{"line":[secret]}', '7', step('one more')],
      answers: ['["changes",[]]', '["result/a",[secret]]', 'null', '["result/b",{"kind":"none","why":"no"}]'],
    });
    expect(await Promise.all(['changes', 'result/a', 'result/b'].map(ask))).toEqual([
      [],
      undefined,
      { kind: 'none', why: 'no' },
    ]);
    await expect(ask('detail/1')).rejects.toThrow('What this page holds of this line is damaged.');
    expect(await ask('search/one')).toEqual([0, 3]);
    expect(await ask('search/secret')).toEqual([]);
  });

  it.each(['search/x', 'find/evt_none'])(
    'gets its answer between the long lines that %s looks through',
    async (path) => {
      const ask = await held({ lines: longLines, answers: ['["changes",[]]'] });
      await ask('detail/0');
      await ask('changes');
      let turns = 0;
      const over = new AbortController();
      const others = async (): Promise<void> => {
        while (!over.signal.aborted) {
          await new Promise((resolve) => setTimeout(resolve));
          turns += 1;
        }
      };
      const looking = ask(path).finally(() => over.abort());
      await Promise.all([looking, others()]);
      expect(turns).toBeGreaterThan(4);
    },
  );

  it('searches for the newest words alone', async () => {
    const ask = await held({ lines: longLines });
    expect(await Promise.all([ask('search/a1'), ask('search/a2')])).toEqual([[], [2]]);
  });
});
