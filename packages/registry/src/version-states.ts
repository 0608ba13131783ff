/** Keeps what has become of each published version since: deprecated, yanked or blocked, with who said so and why. */

import * as z from 'zod/mini';

import { artifactName, exactVersion } from '@svc/artifacts/manifest/name-schemas.ts';
import type { ArtifactRef } from '@svc/artifacts/store/artifact-ref.ts';
import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { systemClock } from '@svc/kit/system-clock.ts';
import { parseJson } from '@svc/protocol/json-object.ts';
import { versionStates } from '@svc/protocol/registry-messages.ts';
import { isReason, type StateOfVersion } from '@svc/protocol/version-states.ts';
import { logName, objectKey, parseKey } from './log-keys.ts';
import type { ObjectStore } from './object-store.ts';
import { badInput } from './refusals.ts';

const recordVersion = 1;

const shape = z.object({
  state_version: z.literal(recordVersion),
  name: artifactName,
  version: exactVersion,
  state: z.enum(versionStates),
  reason: z.nullable(z.string().check(z.refine(isReason))),
  /** ISO 8601. */
  at: z.string(),
  /** The id of the key. */
  by: z.nullable(z.string()),
});

/** What one change of state is kept as. */
type StateRecord = Omit<z.infer<typeof shape>, 'state_version'>;

/** Changes of one version. */
const maxChanges = 256;
const readsAtOnce = 32;
/** How often, at most, this looks for what other servers stored. */
const freshMs = 2_000;

const active: StateOfVersion = { state: 'active', reason: null };

interface StateLog {
  readonly records: StateRecord[];
  readAtMs: number;
}

/**
 * The states of all versions. Records of publishes never change, so the changes of state of a version are a log of their own, committed as publishes
 * are: the texts `<name>@<version>@1`, `@2`, …, each put by one change after all before it were read, and only if nobody else has.
 */
export class VersionStates {
  readonly #store: Pick<ObjectStore, 'putState' | 'readState' | 'listStateKeys'>;
  readonly #logs = new Map<string, StateLog>();
  /** As they became known. */
  readonly #known: StateRecord[] = [];

  constructor(store: Pick<ObjectStore, 'putState' | 'readState' | 'listStateKeys'>) {
    this.#store = store;
  }

  /** Grows with every change that becomes known. */
  get count(): number {
    return this.#known.length;
  }

  /** The versions whose changes became known when there were so many already. */
  changedSince(count: number): readonly ArtifactRef[] {
    return this.#known.slice(count);
  }

  /** What is known of a version without asking the store. */
  known(ref: ArtifactRef): StateOfVersion {
    const { records } = this.#log(logName(ref));
    return records.findLast(({ version }) => version === ref.version) ?? active;
  }

  /** The state of a version; what another server stored is known two seconds later. `E-REG-023` when a change cannot be understood. */
  async of(ref: ArtifactRef): Promise<StateOfVersion> {
    const name = logName(ref);
    const startedMs = systemClock.monotonicMs();
    if (startedMs - this.#log(name).readAtMs > freshMs) await this.#catchUp(name, maxChanges, startedMs);
    return this.known(ref);
  }

  /** Commits a change of a version that is there. Nothing is written where the version is in that state for that reason. */
  async change(ref: ArtifactRef, { state, reason }: StateOfVersion, by: string | null): Promise<void> {
    const name = logName(ref);
    for (let number = 0; ;) {
      await this.#catchUp(name, maxChanges, systemClock.monotonicMs());
      const now = this.known(ref);
      if (now.state === state && now.reason === reason) return;
      const next = this.#log(name).records.length + 1;
      if (next > maxChanges)
        throw badInput(
          'too many changes',
          `The state of a version changes at most ${maxChanges} times: publish a new version.`,
        );
      // Taken and still not to be read.
      if (next === number) throw unreadable(objectKey(name, number));
      number = next;
      const record = { ...ref, state, reason, at: new Date(systemClock.now()).toISOString(), by };
      const text = `${JSON.stringify({ state_version: recordVersion, ...record }, null, 2)}\n`;
      if ((await this.#store.putState(objectKey(name, number), text)) === 'taken') continue;
      this.#keep(name, number, record);
      return;
    }
  }

  /** Reads what has been stored since the last time. Changes that cannot be understood are reported and left out. */
  async readAll(onDamaged: (error: Diagnostic) => void): Promise<void> {
    const startedMs = systemClock.monotonicMs();
    const lengths = new Map<string, number>();
    for (const key of await this.#store.listStateKeys()) {
      const { name, number } = parseKey(key);
      if (name !== null) lengths.set(name, Math.max(number, lengths.get(name) ?? 0));
    }
    const next = [...lengths].filter(([name, length]) => length > this.#log(name).records.length).values();
    const work = async (): Promise<void> => {
      for (const [name, length] of next) {
        await this.#catchUp(name, length, startedMs).catch((error: unknown) => {
          if (error instanceof Diagnostic && error.code === 'E-REG-023') onDamaged(error);
          else throw error;
        });
      }
    };
    await Promise.all(Array.from({ length: readsAtOnce }, work));
  }

  async #catchUp(name: string, upTo: number, startedMs: number): Promise<void> {
    for (let number = this.#log(name).records.length + 1; number <= upTo; number += 1) {
      const key = objectKey(name, number);
      const text = await this.#store.readState(key);
      if (text === null) break;
      const record = decodeState(text);
      if (record === null || logName(record) !== name) throw unreadable(key);
      this.#keep(name, number, record);
    }
    const log = this.#log(name);
    log.readAtMs = Math.max(log.readAtMs, startedMs);
    this.#logs.set(name, log);
  }

  #keep(name: string, number: number, record: StateRecord): void {
    const log = this.#log(name);
    // Somebody else may have read it meanwhile.
    if (log.records.length !== number - 1) return;
    log.records.push(record);
    this.#logs.set(name, log);
    this.#known.push(record);
  }

  #log(name: string): StateLog {
    return this.#logs.get(name) ?? { records: [], readAtMs: Number.NEGATIVE_INFINITY };
  }
}

function unreadable(key: string): Diagnostic {
  return new Diagnostic('E-REG-023', `the state ${key} is missing or cannot be understood`);
}

function decodeState(text: string): StateRecord | null {
  const parsed = shape.safeParse(parseJson(text));
  if (!parsed.success) return null;
  const { state_version: _, ...record } = parsed.data;
  return record;
}
