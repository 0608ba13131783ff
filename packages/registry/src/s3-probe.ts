import { randomBytes } from 'node:crypto';

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import type { S3Client } from './s3-client.ts';
import type { S3Layout } from './s3-layout.ts';

const writers = 4;

/** No artifact has this key, so that a probe that was cut is swept like any archive that nothing refers to. */
const probeKey = 'probe';

/**
 * Whether the bucket can be listed, written and read, and whether of several writers of one name exactly one succeeds: a service that
 * does not know `If-None-Match` says yes to all of them, and publishes would replace one another. `E-REG-024`, `E-REG-025`, `E-REG-026`.
 */
export async function probeService(client: S3Client, layout: S3Layout): Promise<void> {
  const query = { 'list-type': '2', prefix: layout.records, 'max-keys': '1' };
  await client.ask({ attempt: 'list the bucket', method: 'GET', query, expected: [200] });
  const name = layout.archive(probeKey, randomBytes(16).toString('hex'));
  const works = await probeConditionalPut(client, name);
  await client.ask({ attempt: 'remove from the bucket', method: 'DELETE', name, expected: [200, 204, 404] });
  if (works) return;
  throw new Diagnostic(
    'E-REG-026',
    'the S3 service has no conditional put: one writer could replace what another has stored',
    {
      hint: 'use a service that knows If-None-Match: * on PUT, or a store of files',
    },
  );
}

async function probeConditionalPut(client: S3Client, name: string): Promise<boolean> {
  const put = async (text: string): Promise<{ readonly text: string; readonly status: number }> => {
    const { status } = await client.ask({
      attempt: 'write to the bucket',
      method: 'PUT',
      name,
      headers: { 'if-none-match': '*' },
      body: { kind: 'text', text },
      expected: [200, 412, 501],
    });
    return { text, status };
  };
  const raced = await Promise.all(Array.from({ length: writers }, async (_, writer) => await put(`writer ${writer}`)));
  const late = await put('late');
  const { content } = await client.ask({ attempt: 'read the bucket', method: 'GET', name, expected: [200, 404] });
  const stored = raced.filter(({ status }) => status === 200);
  // None, where the one that was stored has lost its answer and was repeated.
  const one = stored.length === 0 ? content.startsWith('writer ') : stored.length === 1 && stored[0]?.text === content;
  return one && late.status === 412 && raced.every(({ status }) => status !== 501);
}
