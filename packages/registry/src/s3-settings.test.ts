import { describe, expect, it } from 'vitest';

import { diagnosticOf } from '@svc/kit/diagnostics/diagnostic.ts';
import { readS3Settings, type S3Settings } from './settings.ts';

function read(store: string, env: Readonly<Record<string, string>> = {}): S3Settings {
  return readS3Settings(store, { AWS_ACCESS_KEY_ID: 'id', AWS_SECRET_ACCESS_KEY: 'secret', ...env });
}

describe('the settings of a store on S3', () => {
  it.each([
    ['s3://bucket', {}, 'https://bucket.s3.us-east-1.amazonaws.com/', ''],
    ['s3://bucket/', { AWS_REGION: '' }, 'https://bucket.s3.us-east-1.amazonaws.com/', ''],
    ['s3://bucket/a', { AWS_DEFAULT_REGION: 'eu-west-1' }, 'https://bucket.s3.eu-west-1.amazonaws.com/', 'a/'],
    [
      's3://b.c.d/a/',
      { AWS_REGION: 'eu-west-1', AWS_DEFAULT_REGION: 'x' },
      'https://s3.eu-west-1.amazonaws.com/b.c.d/',
      'a/',
    ],
    ['s3://bucket', { AWS_REGION: 'cn-north-1' }, 'https://bucket.s3.cn-north-1.amazonaws.com.cn/', ''],
    ['s3://bucket/a/b_C-1.x', { S3_ENDPOINT: 'http://127.0.0.1:9000' }, 'http://127.0.0.1:9000/bucket/', 'a/b_C-1.x/'],
    ['s3://bucket/a', { S3_ENDPOINT: 'https://s3.example.com/base/' }, 'https://s3.example.com/base/bucket/', 'a/'],
  ])('%s with %j is %s', (store, env, address, prefix) => {
    const settings = read(store, env);
    expect([settings.address.href, settings.prefix]).toEqual([address, prefix]);
  });

  it.each([
    's3:/bucket',
    'bucket',
    's3://',
    's3://B',
    's3://ab',
    's3://bucket/../a',
    's3://bucket/.',
    's3://bucket//a',
    's3://bucket/ä',
    `s3://bucket/${'a'.repeat(501)}`,
  ])('refuse %j', (store) => {
    expect(diagnosticOf(() => void read(store))?.code).toBe('E-REG-021');
  });

  it.each([
    { S3_ENDPOINT: 's3.example.com' },
    { S3_ENDPOINT: 'ftp://s3.example.com' },
    { S3_ENDPOINT: 'https://user@s3.example.com' },
    { S3_ENDPOINT: 'https://:password@s3.example.com' },
    { S3_ENDPOINT: 'https://s3.example.com/?x' },
    { AWS_REGION: 'eu west' },
    { AWS_ACCESS_KEY_ID: '' },
    { AWS_SECRET_ACCESS_KEY: '' },
    { AWS_SESSION_TOKEN: 'a\nb' },
  ])('refuse %j', (env) => {
    expect(diagnosticOf(() => void read('s3://bucket', env))?.code).toBe('E-REG-021');
  });

  it('fail without a word of the secrets that an endpoint may hold', () => {
    const S3_ENDPOINT = 'https://user:hunter2@s3.example.com/?token=hunter2';
    const fault = diagnosticOf(() => void read('s3://bucket', { S3_ENDPOINT }));
    expect(`${fault?.message} ${fault?.hint}`).not.toContain('hunter2');
    expect(fault?.code).toBe('E-REG-021');
  });

  it('hold what is secret as secrets', () => {
    const { credentials } = read('s3://bucket', { AWS_SESSION_TOKEN: 'token' });
    expect([credentials.accessKeyId, credentials.secretAccessKey.reveal(), credentials.sessionToken?.reveal()]).toEqual(
      ['id', 'secret', 'token'],
    );
    expect(JSON.stringify(credentials)).not.toMatch(/"secret"|"token"/);
    expect(read('s3://bucket').credentials.sessionToken).toBe(null);
  });
});
