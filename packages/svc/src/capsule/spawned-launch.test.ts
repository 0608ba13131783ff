import { PassThrough, Readable } from 'node:stream';
import { describe, expect, it } from 'vitest';

import { readSpawnApproval } from './spawned-launch.ts';

function from(...chunks: readonly string[]): Readable {
  return Readable.from(chunks.map((chunk) => Buffer.from(chunk)));
}

describe('the approval of a delegated launch', () => {
  it('is what standard input holds up to its end, however it arrives', async () => {
    expect((await readSpawnApproval(from('msa1.a', 'bc', '.def\n'))).reveal()).toBe('msa1.abc.def');
  });

  it('is shown by nothing [D2-AUTH-03]', async () => {
    const approval = await readSpawnApproval(from('msa1.abc'));
    expect(`${String(approval)} ${JSON.stringify({ approval })}`).not.toContain('msa1');
  });

  it.each([
    ['nothing', '', 'it is empty'],
    ['blanks', ' \n', 'it is empty'],
    ['two lines', 'msa1.a\nmsa1.b', 'it is not a token'],
    ['what a header cannot hold', 'msa1.é', 'it is not a token'],
    ['more than a token', 'x'.repeat(17 * 1024), 'it is too long'],
  ])('is refused for %s', async (_what, text, reason) => {
    await expect(readSpawnApproval(from(text))).rejects.toMatchObject({
      code: 'E-RUN-039',
      message: `no approval can be read from standard input: ${reason}`,
    });
  });

  it('is refused when the stream breaks off', async () => {
    const stdin = new PassThrough();
    const reading = readSpawnApproval(stdin);
    stdin.write('msa1.a');
    stdin.destroy(new Error('the parent is gone'));
    await expect(reading).rejects.toMatchObject({ code: 'E-RUN-039' });
  });
});
