import { PassThrough, Readable } from 'node:stream';
import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';

import { readSpawnApproval } from './spawned-launch.ts';

function from(...chunks: readonly string[]): Readable {
  return Readable.from(chunks.map((chunk) => Buffer.from(chunk)));
}

const key = '0f'.repeat(32);

describe('the approval of a delegated launch', () => {
  it('takes standard input up to its end, however it arrives', async () => {
    const { approval, telemetryEnv } = await readSpawnApproval(from('msa1.a', 'bc', '.def\n'));
    expect([approval.reveal(), telemetryEnv]).toEqual(['msa1.abc.def', null]);
  });

  it('appears nowhere [D2-AUTH-03]', async () => {
    const { approval } = await readSpawnApproval(from('msa1.abc'));
    expect(`${String(approval)} ${JSON.stringify({ approval })}`).not.toContain('msa1');
  });

  it('may have the variables of telemetry behind it, which are in no environment', async () => {
    const { approval, telemetryEnv } = await readSpawnApproval(
      from('msa1.abc\n{"OTEL_EXPORTER', '_OTLP_ENDPOINT":"http://c:4318"}'),
    );
    expect([approval.reveal(), telemetryEnv]).toEqual(['msa1.abc', { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c:4318' }]);
  });

  it('may have the key for questions behind that, which appears nowhere', async () => {
    for (const variables of ['', '{"A":"1"}']) {
      const { askKey, telemetryEnv } = await readSpawnApproval(from(`msa1.abc\n${variables}\n${key}`));
      expect([askKey?.reveal(), telemetryEnv]).toEqual([key, variables === '' ? null : { A: '1' }]);
      expect(`${inspect(askKey)} ${JSON.stringify(askKey)}`).not.toContain(key);
    }
  });

  it.each([
    ['variables that are none', 'msa1.a\n{"A":1}', 'it is not a token'],
    ['a third line that is no key', 'msa1.a\n{}\n{}', 'it is not a token'],
    ['a fourth line', `msa1.a\n{}\n${key}\n{}`, 'it is not a token'],
    ['nothing', '', 'it is empty'],
    ['blanks', ' \n', 'it is empty'],
    ['two lines', 'msa1.a\nmsa1.b', 'it is not a token'],
    ['what a header cannot hold', 'msa1.é', 'it is not a token'],
    ['more than a token', 'x'.repeat(17 * 1024), 'it is too long'],
  ])('fails for %s', async (_what, text, reason) => {
    await expect(readSpawnApproval(from(text))).rejects.toMatchObject({
      code: 'E-RUN-039',
      message: `no approval can be read from standard input: ${reason}`,
    });
  });

  it('fails when the stream breaks off', async () => {
    const stdin = new PassThrough();
    const reading = readSpawnApproval(stdin);
    stdin.write('msa1.a');
    stdin.destroy(new Error('the parent is gone'));
    await expect(reading).rejects.toMatchObject({ code: 'E-RUN-039' });
  });
});
