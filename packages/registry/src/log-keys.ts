/** Names the entries of the logs that are kept of each version. */

import type { ArtifactRef } from '@svc/artifacts/store/artifact-ref.ts';

/** Versions that differ in case alone share a log: on some file systems they would share its objects. */
export function logName({ name, version }: ArtifactRef): string {
  return `${name}@${version.toLowerCase()}`;
}

export function objectKey(logged: string, number: number): string {
  return `${logged}@${number}`;
}

/** The log that a key belongs to, and the number in it; null for a key of another kind. */
export function parseKey(key: string): { readonly name: string | null; readonly number: number } {
  const [, name = null, number = '0'] = /^([^@]+@[^@]+)@([1-9]\d{0,5})$/.exec(key) ?? [];
  return { name, number: Number(number) };
}
