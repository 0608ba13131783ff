/** Keeps what is known of each published version, as a log of records in the object store. */

import * as z from 'zod/mini';

import { artifactName, exactVersion } from '@svc/artifacts/manifest/name-schemas.ts';
import { type ArtifactRef, platformShape } from '@svc/artifacts/store/artifact-ref.ts';
import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { sha256Shape } from '@svc/kit/sha256.ts';
import { parseJson } from '@svc/protocol/json-object.ts';
import { packagings, roles } from '@svc/protocol/registry-messages.ts';
import { logName, objectKey, parseKey } from './log-keys.ts';
import type { ObjectStore, StagedArchive } from './object-store.ts';
import { badInput } from './refusals.ts';

/** A record with the key of its object. */
export interface KeptRecord extends ArtifactRecord {
  readonly key: string;
}

/** Publishes of one version; every one of them brings another platform. */
const maxRecords = 256;
const readsAtOnce = 32;

/**
 * The records of all artifacts. Those of one version are a log: the objects `<name>@<version>@1`, `@2`, …, each put by one publish after
 * its publisher has read all before it, and only if nobody else has. What is read is kept, because it never changes.
 */
export class ArtifactRecords {
  readonly #store: ObjectStore;
  readonly #logs = new Map<string, KeptRecord[]>();
  /** As they became known. */
  readonly #known: KeptRecord[] = [];
  #isWhole = false;

  constructor(store: ObjectStore) {
    this.#store = store;
  }

  /** Grows with every record that becomes known. */
  get count(): number {
    return this.#known.length;
  }

  /** Whether the last `readAll` could read everything that the store listed: what is not known is not there then. */
  get isWhole(): boolean {
    return this.#isWhole;
  }

  /** What is known of a version without asking the store. */
  known({ name, version }: ArtifactRef): readonly KeptRecord[] {
    return this.#log({ name, version }).filter((record) => record.version === version);
  }

  /** What is there of a version, from every publisher. `E-REG-023` when a record cannot be understood. */
  async read(ref: ArtifactRef): Promise<readonly KeptRecord[]> {
    await this.#catchUp(logName(ref), maxRecords);
    return this.known(ref);
  }

  /**
   * Commits a publish. `refuse` is shown everything there is of the version and throws what speaks against it; nothing can be committed
   * between that and the commit itself.
   */
  async add(
    record: ArtifactRecord,
    archive: StagedArchive,
    refuse: (present: readonly KeptRecord[]) => void,
  ): Promise<void> {
    const name = logName(record);
    for (let number = 0; ;) {
      refuse(await this.read(record));
      const next = this.#log(record).length + 1;
      if (next > maxRecords) throw badInput('too many publishes', `A version takes at most ${maxRecords} of them.`);
      // Taken and still not to be read.
      if (next === number) throw unreadable(objectKey(name, number));
      number = next;
      const key = objectKey(name, number);
      if ((await this.#store.put(key, { record: encodeRecord(record), archive })) === 'stored') {
        this.#keep(name, number, { ...record, key });
        return;
      }
    }
  }

  /** Reads what has been stored since the last time. Records that cannot be understood are reported and left out. */
  async readAll(onDamaged: (error: Diagnostic) => void): Promise<void> {
    const lengths = new Map<string, number>();
    for (const key of await this.#store.listKeys()) {
      const { name, number } = parseKey(key);
      if (name !== null) lengths.set(name, Math.max(number, lengths.get(name) ?? 0));
    }
    const behind = [...lengths].filter(([name, length]) => length > (this.#logs.get(name)?.length ?? 0));
    const next = behind.values();
    const work = async (): Promise<void> => {
      for (const [name, length] of next) {
        await this.#catchUp(name, length).catch((error: unknown) => {
          if (error instanceof Diagnostic && error.code === 'E-REG-023') onDamaged(error);
          else throw error;
        });
      }
    };
    await Promise.all(Array.from({ length: readsAtOnce }, work));
    this.#isWhole = behind.every(([name, length]) => length <= (this.#logs.get(name)?.length ?? 0));
  }

  all(): Iterable<KeptRecord> {
    return this.#known.values();
  }

  /** Returns the records that became known when there were so many already. */
  since(count: number): readonly KeptRecord[] {
    return this.#known.slice(count);
  }

  async #catchUp(name: string, upTo: number): Promise<void> {
    for (let number = (this.#logs.get(name)?.length ?? 0) + 1; number <= upTo; number += 1) {
      const key = objectKey(name, number);
      const text = await this.#store.readRecord(key);
      if (text === null) return;
      const record = decodeRecord(text);
      if (record === null || logName(record) !== name) {
        throw unreadable(key);
      }
      this.#keep(name, number, { ...record, key });
    }
  }

  #keep(name: string, number: number, record: KeptRecord): void {
    const log = this.#logs.get(name) ?? [];
    // Somebody else may have read it meanwhile.
    if (log.length !== number - 1) return;
    log.push(record);
    this.#logs.set(name, log);
    this.#known.push(record);
  }

  #log(ref: ArtifactRef): readonly KeptRecord[] {
    return this.#logs.get(logName(ref)) ?? [];
  }
}

function unreadable(key: string): Diagnostic {
  return new Diagnostic('E-REG-023', `the record of ${key} is missing or cannot be understood`);
}

const recordVersion = 1;

const shape = z.object({
  record_version: z.literal(recordVersion),
  name: artifactName,
  version: exactVersion,
  runtime: z.enum(packagings),
  artifact_runtime: z.enum(roles),
  /** What the archive is for; none makes it the generic file of its version. */
  platforms: z.array(z.string().check(z.regex(platformShape))),
  sha256: z.string().check(z.regex(sha256Shape)),
  bytes: z.int().check(z.minimum(0)),
  description: z.nullable(z.string()),
  tags: z.array(z.string()),
  /** ISO 8601. Records of before have neither. */
  published_at: z._default(z.nullable(z.string()), null),
  /** The id of the key. */
  published_by: z._default(z.nullable(z.string()), null),
});

/** What one publish brought, as it is kept beside the archive. */
export type ArtifactRecord = Omit<z.infer<typeof shape>, 'record_version'>;

export function encodeRecord(record: ArtifactRecord): string {
  return `${JSON.stringify({ record_version: recordVersion, ...record }, null, 2)}\n`;
}

/** Returns null for a text that is no record, or one of a later version. */
export function decodeRecord(text: string): ArtifactRecord | null {
  const parsed = shape.safeParse(parseJson(text));
  if (!parsed.success) return null;
  const { record_version: _, ...record } = parsed.data;
  return record;
}
