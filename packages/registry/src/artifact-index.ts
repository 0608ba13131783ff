/** Lists every published version, as the index of the registry. */

import { sha256Hex } from '@svc/kit/sha256.ts';
import type { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { encodeIndex, type IndexObject } from '@svc/protocol/registry-messages.ts';
import type { ArtifactRecords, KeptRecord } from './artifact-records.ts';

interface EncodedIndex {
  readonly json: Buffer;
  readonly sha256: string;
}

/** What other servers published is looked for at most so often. */
const freshMs = 2_000;

/** The index, derived from the records and kept until one is added. What this server published is in it at once. */
export class ArtifactIndex {
  readonly #records: ArtifactRecords;
  readonly #onDamaged: (error: Diagnostic) => void;
  #reading: Promise<void> | null = null;
  #readAtMs = Number.NEGATIVE_INFINITY;
  #encoded: (EncodedIndex & { readonly count: number }) | null = null;

  constructor(records: ArtifactRecords, onDamaged: (error: Diagnostic) => void) {
    this.#records = records;
    this.#onDamaged = onDamaged;
  }

  async current(): Promise<EncodedIndex> {
    if (performance.now() - this.#readAtMs > freshMs) await this.#readOnce();
    const { count } = this.#records;
    if (this.#encoded?.count === count) return this.#encoded;
    const json = Buffer.from(encodeIndex(indexOf(this.#records.all())));
    this.#encoded = { json, count, sha256: sha256Hex(json) };
    return this.#encoded;
  }

  /** Those who ask meanwhile wait for the same reading. */
  async #readOnce(): Promise<void> {
    const startedMs = performance.now();
    this.#reading ??= this.#records
      .readAll(this.#onDamaged)
      .then(() => {
        this.#readAtMs = startedMs;
      })
      .finally(() => {
        this.#reading = null;
      });
    await this.#reading;
  }
}

/** One object for each version, sorted by name and version; what the first publish said of it, and the platforms of all. */
function indexOf(records: Iterable<KeptRecord>): IndexObject[] {
  const versions = new Map<string, KeptRecord[]>();
  for (const record of records) {
    const id = `${record.name}@${record.version}`;
    const same = versions.get(id);
    if (same === undefined) versions.set(id, [record]);
    else same.push(record);
  }
  return [...versions.values()].map(indexObject).sort(byIdentity);
}

function indexObject(records: readonly KeptRecord[]): IndexObject {
  const [first] = records;
  if (first === undefined) throw new Error('a version has no record');
  const { name, version, runtime, artifact_runtime, description, tags } = first;
  const platforms = records.flatMap((record) => record.platforms).sort();
  return {
    name,
    version,
    runtime,
    artifact_runtime,
    platforms: platforms.map(pairOf),
    description,
    tags,
  };
}

/** A platform is `os-arch`. */
function pairOf(platform: string): readonly [string, string] {
  const [system = '', architecture = ''] = platform.split('-');
  return [system, architecture];
}

function byIdentity(left: IndexObject, right: IndexObject): number {
  return compare(left.name, right.name) || compare(left.version, right.version);
}

function compare(left: string, right: string): number {
  if (left === right) return 0;
  return left < right ? -1 : 1;
}
