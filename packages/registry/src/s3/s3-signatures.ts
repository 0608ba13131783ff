/** Keeps signatures in an S3 bucket. */

import { sha256Hex } from '@svc/kit/sha256.ts';
import { signatureLimits } from '@svc/protocol/registry-messages.ts';
import { listObjects } from './s3-listing.ts';
import type { S3Client } from './s3-client.ts';
import type { S3Layout } from './s3-layout.ts';
import {
  type AgedName,
  leftoverAgeMs,
  type SignaturePut,
  type SignatureStore,
  supersededAmong,
} from '../signature-store.ts';

/** An object for each bundle, named after both hashes. */
export class S3Signatures implements SignatureStore {
  readonly #client: S3Client;
  readonly #layout: S3Layout;

  constructor(client: S3Client, layout: S3Layout) {
    this.#client = client;
    this.#layout = layout;
  }

  async put(sha256: string, bundle: string): Promise<SignaturePut> {
    const name = this.#layout.signature(sha256, sha256Hex(bundle));
    const present = await this.#objects(sha256);
    // A concurrent writer of the same one brings the same bytes. Put again it counts as new, which a sweep goes by.
    const body = { kind: 'text', text: bundle } as const;
    await this.#client.ask({ attempt: `store a signature of ${sha256}`, method: 'PUT', name, body, expected: [200] });
    const others = present.filter((other) => other.name !== name);
    await this.#remove(supersededAmong(others));
    return others.length < present.length ? 'present' : 'stored';
  }

  async read(sha256: string): Promise<readonly string[]> {
    const names = (await this.#names(sha256)).slice(0, signatureLimits.maxBundles);
    const attempt = `read the signatures of ${sha256}`;
    const answers = await Promise.all(
      names.map(async (name) => await this.#client.ask({ attempt, method: 'GET', name, expected: [200, 404] })),
    );
    // A signature that is gone was swept meanwhile.
    return answers.filter(({ status }) => status === 200).map(({ content }) => content);
  }

  async count(sha256: string): Promise<number> {
    return Math.min((await this.#names(sha256)).length, signatureLimits.maxBundles);
  }

  async sweep(isPublished: (sha256: string) => boolean): Promise<void> {
    const leftovers: string[] = [];
    for await (const { objects, answeredMs } of listObjects(this.#client, this.#layout.signatures)) {
      for (const { name, changedMs } of objects) {
        const sha256 = this.#layout.parseSignature(name);
        const isOld = answeredMs !== null && answeredMs - changedMs > leftoverAgeMs;
        if (sha256 !== null && isOld && !isPublished(sha256)) leftovers.push(name);
      }
    }
    await this.#remove(leftovers);
  }

  async #remove(names: readonly string[]): Promise<void> {
    for (const name of names) {
      await this.#client.ask({ attempt: `remove ${name}`, method: 'DELETE', name, expected: [200, 204, 404] });
    }
  }

  async #names(sha256: string): Promise<readonly string[]> {
    return (await this.#objects(sha256)).map(({ name }) => name).sort();
  }

  async #objects(sha256: string): Promise<readonly AgedName[]> {
    const found: AgedName[] = [];
    for await (const { objects } of listObjects(this.#client, this.#layout.signaturesOf(sha256))) {
      found.push(...objects.filter(({ name }) => this.#layout.parseSignature(name) === sha256));
    }
    return found;
  }
}
