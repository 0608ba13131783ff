import { onTestFinished } from 'vitest';

import type { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { Secret } from '@svc/kit/diagnostics/secret.ts';
import { readS3Settings, type S3Settings } from '../src/settings.ts';
import { S3Client, type S3ClientOptions, type S3Limits } from '../src/s3/s3-client.ts';
import { S3Store, type S3StoreOptions } from '../src/s3/s3-store.ts';
import { standInUser, type S3StandIn } from './s3-stand-in.ts';

export const now = (): Date => new Date();

/** Patience for a service on this machine that a test makes fail. */
export const shortLimits: S3Limits = { answerMs: 2_000, uploadMs: 2_000, idleMs: 300, attempts: 3, firstPauseMs: 1 };

export interface TestUser {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
}

/** What `svc-registry` is given to use a bucket of a service on this machine. */
export function s3Environment(endpoint: string, { accessKeyId, secretAccessKey }: TestUser): Record<string, string> {
  return { S3_ENDPOINT: endpoint, AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey };
}

export function s3Settings(store: string, endpoint: string, user: TestUser): S3Settings {
  return readS3Settings(store, s3Environment(endpoint, user));
}

/** `settings` with another secret. */
export function withSecret(settings: S3Settings, secret: string): S3Settings {
  return { ...settings, credentials: { ...settings.credentials, secretAccessKey: new Secret(secret) } };
}

/** A new bucket, or the one that is there. */
export async function makeBucket(settings: S3Settings, options: Partial<S3ClientOptions> = {}): Promise<void> {
  const client = new S3Client({ ...settings, prefix: '' }, { now, ...options });
  try {
    await client.ask({ attempt: 'make the bucket', method: 'PUT', expected: [200] });
  } finally {
    client.close();
  }
}

/** A store on a stand-in, and what it reported. Closed after the test. */
export async function openOn(
  standIn: S3StandIn,
  options: Partial<S3StoreOptions> = {},
): Promise<{ readonly store: S3Store; readonly faults: Diagnostic[] }> {
  const faults: Diagnostic[] = [];
  const onFault = (fault: Diagnostic): void => void faults.push(fault);
  const settings = s3Settings('s3://bucket/p', standIn.endpoint, standInUser);
  const store = await S3Store.open(settings, { now, onFault, limits: shortLimits, ...options });
  onTestFinished(() => store.close());
  return { store, faults };
}

/** Code and message of what the work is to fail with. */
export async function faultOf(work: Promise<unknown>): Promise<string> {
  const error = await work.then(
    () => null,
    (caught: unknown) => caught,
  );
  if (!(error instanceof Error) || !('code' in error)) throw error ?? new Error('there was no fault');
  return `${String(error.code)} ${error.message}`;
}
