/** Names the objects of the store in a bucket. */

import * as z from 'zod/mini';

import { sha256Shape } from '@svc/kit/sha256.ts';
import { parseJson } from '@svc/protocol/json-object.ts';
import { checkedKey, objectKeyShape } from '../object-store.ts';

const recordsFolder = 'records/';
const archivesFolder = 'archives/';
const signaturesFolder = 'signatures/';
const statesFolder = 'states/';
const archiveIdShape = /^[0-9a-f]{32}$/;

const shape = z.object({
  archive: z.string().check(z.regex(archiveIdShape)),
  bytes: z.int().check(z.minimum(0)),
  sha256: z.string().check(z.regex(sha256Shape)),
  record: z.string(),
});

/** What is put once under the key of a record: the record itself, and which archive of this key is the one it speaks of. */
export type CommittedObject = z.infer<typeof shape>;

export function encodeCommitted({ archive, bytes, sha256, record }: CommittedObject): string {
  return JSON.stringify({ archive, bytes, sha256, record });
}

/** Returns null for a text that no server has put there. */
export function decodeCommitted(text: string): CommittedObject | null {
  return shape.safeParse(parseJson(text)).data ?? null;
}

/** Names of objects in a bucket, below the prefix of the store. */
export class S3Layout {
  readonly #prefix: string;

  constructor(prefix: string) {
    this.#prefix = prefix;
  }

  get records(): string {
    return `${this.#prefix}${recordsFolder}`;
  }

  get archives(): string {
    return `${this.#prefix}${archivesFolder}`;
  }

  get signatures(): string {
    return `${this.#prefix}${signaturesFolder}`;
  }

  /** Below which the signatures of an archive lie. */
  signaturesOf(sha256: string): string {
    if (!sha256Shape.test(sha256)) throw new Error('the hash of a signature was not checked');
    return `${this.signatures}${sha256}/`;
  }

  /** `bundle` is the hash of the bundle itself. */
  signature(sha256: string, bundle: string): string {
    return `${this.signaturesOf(sha256)}${bundle}`;
  }

  /** The hash of the archive that a signature is for; null for any other object. */
  parseSignature(name: string): string | null {
    if (!name.startsWith(this.signatures)) return null;
    const [sha256 = '', bundle = '', ...more] = name.slice(this.signatures.length).split('/');
    return sha256Shape.test(sha256) && sha256Shape.test(bundle) && more.length === 0 ? sha256 : null;
  }

  get states(): string {
    return `${this.#prefix}${statesFolder}`;
  }

  state(key: string): string {
    return `${this.states}${checkedKey(key)}`;
  }

  record(key: string): string {
    return `${this.records}${checkedKey(key)}`;
  }

  /** Each attempt at a key brings its archive under an id of its own: none can touch the bytes of another. */
  archive(key: string, id: string): string {
    return `${this.archives}${checkedKey(key)}/${id}`;
  }

  /** Returns null for an object that is no record. */
  keyOfRecord(name: string): string | null {
    return keyBelow(this.records, name);
  }

  /** Returns null for an object that is no state. */
  keyOfState(name: string): string | null {
    return keyBelow(this.states, name);
  }

  /** Returns null for an object that is no archive. */
  parseArchive(name: string): { readonly key: string; readonly id: string } | null {
    const [key = '', id = '', ...more] = name.startsWith(this.archives)
      ? name.slice(this.archives.length).split('/')
      : [];
    return objectKeyShape.test(key) && archiveIdShape.test(id) && more.length === 0 ? { key, id } : null;
  }
}

function keyBelow(folder: string, name: string): string | null {
  const key = name.startsWith(folder) ? name.slice(folder.length) : '';
  return objectKeyShape.test(key) ? key : null;
}
