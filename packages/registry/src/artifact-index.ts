/** Lists all published versions as the index of the registry, and those of one artifact. */

import type { ArtifactRef } from '@svc/artifacts/store/artifact-ref.ts';
import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { shortened } from '@svc/kit/diagnostics/printable.ts';
import { sha256Hex } from '@svc/kit/sha256.ts';
import { systemClock } from '@svc/kit/system-clock.ts';
import { encodeIndex, type IndexObject } from '@svc/protocol/registry-messages.ts';
import type { PublishedArchive, PublishedVersion } from '@svc/protocol/version-states.ts';
import type { ArtifactRecord, ArtifactRecords } from './artifact-records.ts';
import type { NamePatterns } from './name-patterns.ts';
import type { SignatureCounts } from './signature-counts.ts';
import type { VersionStates } from './version-states.ts';

interface EncodedIndex {
  readonly json: Buffer;
  readonly sha256: string;
}

/** What other servers published is looked for at most so often. */
const freshMs = 2_000;

/** The index has so much of a description, in UTF-16 units: it is for finding an artifact. */
const maxDescription = 200;

/** Lists for readers of different names that are kept encoded. */
const maxEncoded = 32;

/** What the index takes for the versions of one name. */
interface NameSize {
  /** The bytes of the objects of all versions together. */
  bytes: number;
  /** The bytes of the object of each version. */
  readonly ofVersions: Map<string, number>;
}

/** What the index is made of. */
interface IndexedStore {
  readonly records: ArtifactRecords;
  readonly states: VersionStates;
  readonly signatures: SignatureCounts;
  readonly onDamaged: (error: Diagnostic) => void;
}

/** The index, derived from the records and states and kept until one is added. What this server stored is in it at once. */
export class ArtifactIndex {
  readonly #records: ArtifactRecords;
  readonly #states: VersionStates;
  readonly #signatures: SignatureCounts;
  readonly #onDamaged: (error: Diagnostic) => void;
  #reading: Promise<void> | null = null;
  #readAtMs = Number.NEGATIVE_INFINITY;
  #versions: { readonly byName: ReadonlyMap<string, readonly ArtifactRecord[][]>; readonly count: number } | null =
    null;
  /** The sizes at the time of `#sized`, which counts records and changes of state. Each publish looks only at what came since, not at all versions. */
  readonly #sizes = new Map<string, NameSize>();
  #sized = { records: 0, states: 0 };
  #encoded: { readonly lists: Map<string, EncodedIndex>; readonly count: number } | null = null;

  constructor({ records, states, signatures, onDamaged }: IndexedStore) {
    this.#records = records;
    this.#states = states;
    this.#signatures = signatures;
    this.#onDamaged = onDamaged;
  }

  /** What those may know who may read these names. */
  async current(readable: NamePatterns): Promise<EncodedIndex> {
    await this.#refresh();
    const count = this.#records.count + this.#states.count;
    if (this.#encoded?.count !== count || this.#encoded.lists.size >= maxEncoded) {
      this.#encoded = { lists: new Map(), count };
    }
    const { lists } = this.#encoded;
    const known = lists.get(readable.text);
    if (known !== undefined) return known;
    const json = Buffer.from(encodeIndex([...this.#artifacts(readable).values()].flat()));
    const encoded = { json, sha256: sha256Hex(json) };
    lists.set(readable.text, encoded);
    return encoded;
  }

  /** Every version of an artifact, in the order of their text; none for a name that is not there. Signatures are not counted (`withSignatures`). */
  async versionsOf(name: string): Promise<readonly PublishedVersion[]> {
    await this.#refresh();
    const versions = this.#byName().get(name) ?? [];
    return versions.map((records) => this.#publishedVersion(records));
  }

  /** The same with their signatures counted, which asks the store; null stays where that fails. */
  async withSignatures(versions: readonly PublishedVersion[]): Promise<readonly PublishedVersion[]> {
    const hashes = versions.flatMap(({ archives }) => archives.map(({ sha256 }) => sha256));
    const counts = await this.#signatures.of(hashes);
    const counted = (archive: PublishedArchive): PublishedArchive => {
      return { ...archive, signatures: counts.get(archive.sha256) ?? null };
    };
    return versions.map((version) => ({ ...version, archives: version.archives.map(counted) }));
  }

  /** How many bytes the index would have of an artifact after one more publish of it, as far as this server knows. */
  bytesWith(record: ArtifactRecord): number {
    this.#measureNew();
    const { bytes = 0, ofVersions = new Map<string, number>() } = this.#sizes.get(record.name) ?? {};
    const before = ofVersions.get(record.version);
    const versions = ofVersions.size + (before === undefined ? 1 : 0);
    // A list has two brackets, and a comma between two objects.
    return bytes - (before ?? 0) + this.#bytesOf([...this.#records.known(record), record]) + versions + 1;
  }

  #measureNew(): void {
    const { records, states } = this.#sized;
    const changed = [...this.#records.since(records), ...this.#states.changedSince(states)];
    this.#sized = { records: this.#records.count, states: this.#states.count };
    for (const { name, version } of changed) {
      const known = this.#records.known({ name, version });
      // The state of what another server published is sometimes known first.
      if (known.length === 0) continue;
      const size = this.#sizes.get(name) ?? { bytes: 0, ofVersions: new Map<string, number>() };
      const bytes = this.#bytesOf(known);
      size.bytes += bytes - (size.ofVersions.get(version) ?? 0);
      size.ofVersions.set(version, bytes);
      this.#sizes.set(name, size);
    }
  }

  /** Returns the bytes of the object of a version. */
  #bytesOf(records: readonly ArtifactRecord[]): number {
    return Buffer.byteLength(JSON.stringify(this.#indexObject(records)));
  }

  /** What those may know who may read these names, by artifact; sorted as the index is. */
  async artifacts(readable: NamePatterns): Promise<ReadonlyMap<string, readonly IndexObject[]>> {
    await this.#refresh();
    return this.#artifacts(readable);
  }

  /** The names under which an archive is published; what another server took is known two seconds later. */
  async namesOf(sha256: string): Promise<readonly string[]> {
    await this.#refresh();
    return Array.from(this.#records.all()).flatMap((record) => (record.sha256 === sha256 ? [record.name] : []));
  }

  /** The tags of a version that `versionsOf` has given. */
  tagsOf({ name, version }: ArtifactRef): readonly string[] {
    return this.#records.known({ name, version })[0]?.tags ?? [];
  }

  #artifacts(readable: NamePatterns): Map<string, readonly IndexObject[]> {
    const artifacts = new Map<string, readonly IndexObject[]>();
    for (const [name, versions] of this.#byName()) {
      if (!readable.allows(name)) continue;
      artifacts.set(
        name,
        versions.map((records) => this.#indexObject(records)),
      );
    }
    return artifacts;
  }

  /** All records by artifact and version, both sorted. */
  #byName(): ReadonlyMap<string, readonly ArtifactRecord[][]> {
    const { count } = this.#records;
    if (this.#versions?.count !== count) this.#versions = { byName: sortedVersions(this.#records.all()), count };
    return this.#versions.byName;
  }

  /** One object for each version; what the first publish said of it, and the platforms of all. */
  #indexObject(records: readonly ArtifactRecord[]): IndexObject {
    const { name, version, runtime, artifact_runtime, description: whole, tags } = firstOf(records);
    const description = whole === null ? null : shortened(whole, maxDescription);
    const platforms = records.flatMap((record) => record.platforms).sort();
    const object = { name, version, runtime, artifact_runtime, platforms: platforms.map(pairOf), description, tags };
    const { state } = this.#states.known({ name, version });
    return state === 'active' ? object : { ...object, state };
  }

  #publishedVersion(records: readonly ArtifactRecord[]): PublishedVersion {
    const { name, version, runtime, artifact_runtime, description } = firstOf(records);
    const archives = records.map(({ platforms, sha256, bytes: size, published_at, published_by }) => {
      return { platforms: platforms.map(pairOf), sha256, size, published_at, published_by, signatures: null };
    });
    return { version, ...this.#states.known({ name, version }), runtime, artifact_runtime, description, archives };
  }

  async #refresh(): Promise<void> {
    if (systemClock.monotonicMs() - this.#readAtMs > freshMs) await this.#readOnce();
  }

  /** Those who ask meanwhile wait for the same reading. */
  async #readOnce(): Promise<void> {
    const startedMs = systemClock.monotonicMs();
    this.#reading ??= Promise.all([this.#records.readAll(this.#onDamaged), this.#states.readAll(this.#onDamaged)])
      .then(() => {
        this.#readAtMs = startedMs;
      })
      .finally(() => {
        this.#reading = null;
      });
    await this.#reading;
  }
}

function sortedVersions(records: Iterable<ArtifactRecord>): ReadonlyMap<string, readonly ArtifactRecord[][]> {
  const names = new Map<string, Map<string, ArtifactRecord[]>>();
  for (const record of records) {
    const versions = names.get(record.name) ?? new Map<string, ArtifactRecord[]>();
    const same = versions.get(record.version);
    if (same === undefined) versions.set(record.version, [record]);
    else same.push(record);
    names.set(record.name, versions);
  }
  const sorted = [...names].sort(([one], [other]) => compare(one, other));
  return new Map(
    sorted.map(([name, versions]) => {
      const inOrder = [...versions].sort(([one], [other]) => compare(one, other));
      return [name, inOrder.map(([, same]) => same)] as const;
    }),
  );
}

function firstOf(records: readonly ArtifactRecord[]): ArtifactRecord {
  const [first] = records;
  if (first === undefined) throw new Error('a version has no record');
  return first;
}

/** A platform is `os-arch`. */
function pairOf(platform: string): readonly [string, string] {
  const [system = '', architecture = ''] = platform.split('-');
  return [system, architecture];
}

function compare(left: string, right: string): number {
  if (left === right) return 0;
  return left < right ? -1 : 1;
}
