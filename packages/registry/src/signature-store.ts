/** What the registry needs of a place that keeps signatures, and one that keeps them in directories of this machine. */

import { readdir, readFile, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';

import { isErrno } from '@svc/kit/diagnostics/system-reason.ts';
import { ioFault } from '@svc/kit/files/io-fault.ts';
import { replaceFile, syncDirectory } from '@svc/kit/files/replace-file.ts';
import { sha256Hex, sha256Shape } from '@svc/kit/sha256.ts';
import { systemClock } from '@svc/kit/system-clock.ts';
import { signatureLimits } from '@svc/protocol/registry-messages.ts';

/** What became of a bundle that was brought. */
export type SignaturePut = 'stored' | 'present';

/**
 * Where a registry keeps signatures, by the hash of the archive that they are for, which need not be there. A bundle is put whole and never changes.
 * Every implementation passes the suite in `packages/registry/test/signature-store-contract.ts`.
 */
export interface SignatureStore {
  /**
   * Keeps a bundle, durably, as the newest; one that is `present` becomes that too. Where there are 16 others, the oldest gives way (docs/adr/registry.md
   * "Who brings signatures"). `E-IO-001` when it cannot be written.
   */
  put(sha256: string, bundle: string): Promise<SignaturePut>;
  /** The bundles for an archive, at most 16, in an order that stays. */
  read(sha256: string): Promise<readonly string[]>;
  /** How many `read` would give. */
  count(sha256: string): Promise<number>;
  /** Removes those that came a day ago or earlier for archives that are not published. */
  sweep(isPublished: (sha256: string) => boolean): Promise<void>;
}

/** Nobody takes so long from bringing a signature to publishing what it is for. */
export const leftoverAgeMs: number = 24 * 60 * 60 * 1000;

/** The name of a kept bundle, and when it came. */
export interface AgedName {
  readonly name: string;
  readonly changedMs: number;
}

/** The oldest of the others that are there beside a new one, so that no more stay than may be. */
export function supersededAmong(others: readonly AgedName[]): readonly string[] {
  const newestFirst = others.toSorted((one, other) => other.changedMs - one.changedMs);
  return newestFirst.slice(signatureLimits.maxBundles - 1).map(({ name }) => name);
}

/** `signatures/<hash of the archive>/<hash of the bundle>`, a file for each. */
export class FileSignatures implements SignatureStore {
  readonly #root: string;

  /** `root` is the directory of the registry's data; nothing is made before it is needed. */
  constructor(root: string) {
    this.#root = join(root, 'signatures');
  }

  async put(sha256: string, bundle: string): Promise<SignaturePut> {
    const directory = this.#directory(sha256);
    const name = sha256Hex(bundle);
    const present = await namesIn(directory);
    // Written again where it is there: a sweep goes by the time, and may be at it.
    await replaceFile(join(directory, name), [Buffer.from(bundle)]);
    try {
      if (present.length === 0) await syncDirectory(this.#root);
      const others = present.filter((other) => other !== name);
      if (others.length >= signatureLimits.maxBundles) await this.#removeOldest(directory, others);
    } catch (error) {
      throw ioFault(error, `cannot write to ${this.#root}`);
    }
    return present.includes(name) ? 'present' : 'stored';
  }

  /** Leaves one fewer than there may be. */
  async #removeOldest(directory: string, names: readonly string[]): Promise<void> {
    const aged: AgedName[] = [];
    for (const name of names) {
      const path = join(directory, name);
      try {
        aged.push({ name: path, changedMs: (await stat(path)).mtimeMs });
      } catch (error) {
        // It gave way to another meanwhile.
        if (!isErrno(error, 'ENOENT')) throw error;
      }
    }
    for (const path of supersededAmong(aged)) await rm(path, { force: true });
  }

  async read(sha256: string): Promise<readonly string[]> {
    const directory = this.#directory(sha256);
    const bundles: string[] = [];
    for (const name of (await namesIn(directory)).slice(0, signatureLimits.maxBundles)) {
      try {
        bundles.push(await readFile(join(directory, name), 'utf8'));
      } catch (error) {
        // It was swept meanwhile.
        if (!isErrno(error, 'ENOENT')) throw ioFault(error, `cannot read the signatures of ${sha256}`);
      }
    }
    return bundles;
  }

  async count(sha256: string): Promise<number> {
    return Math.min((await namesIn(this.#directory(sha256))).length, signatureLimits.maxBundles);
  }

  async sweep(isPublished: (sha256: string) => boolean): Promise<void> {
    for (const sha256 of await namesIn(this.#root)) {
      if (isPublished(sha256)) continue;
      const directory = this.#directory(sha256);
      try {
        // It changes whenever a bundle comes.
        const { mtimeMs } = await stat(directory);
        if (systemClock.now() - mtimeMs > leftoverAgeMs) await rm(directory, { recursive: true, force: true });
      } catch (error) {
        if (!isErrno(error, 'ENOENT')) throw ioFault(error, `cannot sweep ${this.#root}`);
      }
    }
  }

  #directory(sha256: string): string {
    // It becomes a path: its maker has to have checked it.
    if (!sha256Shape.test(sha256)) throw new Error('the hash of a signature was not checked');
    return join(this.#root, sha256);
  }
}

/** The names of hashes in a directory, sorted; empty when it is not there. */
async function namesIn(directory: string): Promise<string[]> {
  try {
    return (await readdir(directory)).filter((name) => sha256Shape.test(name)).sort();
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return [];
    throw ioFault(error, `cannot read ${directory}`);
  }
}
