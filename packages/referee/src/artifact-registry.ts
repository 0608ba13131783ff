/** Finds capsules in the local store, for the referee to judge by. */

import { BoundedMap } from '@svc/kit/bounded-map.ts';
import { type BigIntStats, statSync } from 'node:fs';

import { exactVersion } from '@svc/artifacts/manifest/name-schemas.ts';
import { isArtifactName } from '@svc/artifacts/manifest/names.ts';
import { type ArtifactRef, spell } from '@svc/artifacts/store/artifact-ref.ts';
import { findStored, variantPaths } from '@svc/artifacts/store/store-layout.ts';
import { lower } from '@svc/artifacts/grants/effective-grants.ts';
import { envelopeOf } from '@svc/artifacts/grants/spawn-envelope.ts';
import { archiveKind } from '@svc/artifacts/manifest/artifact-manifest.ts';
import { loadCapsuleManifest } from '@svc/artifacts/manifest/load.ts';
import { readManifestText } from '@svc/artifacts/store/inspect-content.ts';
import { manifestFile } from '@svc/artifacts/store/installed-artifact.ts';
import { openStored } from '@svc/artifacts/store/open-stored.ts';
import { Diagnostic, DiagnosticList } from '@svc/kit/diagnostics/diagnostic.ts';
import { quoted } from '@svc/kit/diagnostics/printable.ts';
import type { Environment } from '@svc/kit/environment.ts';
import { isErrno } from '@svc/kit/diagnostics/system-reason.ts';
import { ioFault } from '@svc/kit/files/io-fault.ts';
import { identityOf } from '@svc/kit/files/file-identity.ts';
import type { CapsuleRegistry, Resolution, ResolvedCapsule } from './capsule-registry.ts';

interface ArtifactRegistryOptions extends CapsuleStore {
  /** Unix milliseconds, of the clock that file times come from. */
  readonly now: () => number;
}

/**
 * The capsules of a local store (D2 "What the service does" 2). Each resolve answers for the files as they are then: what was read
 * before is used again only while none of them has changed.
 */
export function createArtifactRegistry(options: ArtifactRegistryOptions): CapsuleRegistry {
  return new ArtifactRegistry(options);
}

/** How many capsules are kept: as many as a daemon can have alive by default. */
const maxKept = 256;

/** On some file systems, two changes within this time leave the same time in a file. */
const coarsestFileTimeMs = 2000;

/** How many problems of one manifest a refusal repeats. */
const maxProblems = 3;

interface Kept {
  readonly files: readonly string[];
  readonly identity: string;
  /** The capsule, or its refusal: what is damaged need not be read again to be refused again. */
  readonly capsule: Promise<ResolvedCapsule>;
}

class ArtifactRegistry implements CapsuleRegistry {
  readonly #options: ArtifactRegistryOptions;
  /** The kept capsules by `name@version`, the one used last at the end. */
  readonly #kept = new BoundedMap<string, Kept>(maxKept);

  constructor(options: ArtifactRegistryOptions) {
    this.#options = options;
  }

  async resolve(name: string, version: string): Promise<Resolution> {
    const ref = { name, version };
    const kept = this.#kept.get(spell(ref));
    const fault = kept === undefined ? refFault(ref) : null;
    if (fault !== null) return { kind: 'unresolvable', reason: fault };
    try {
      const capsule = await this.#capsule(ref, kept);
      if (capsule !== null) return { kind: 'resolved', capsule };
      return { kind: 'unresolvable', reason: `${spell(ref)} is not in the registry` };
    } catch (error) {
      if (!(error instanceof Diagnostic || error instanceof DiagnosticList)) throw error;
      return { kind: 'unresolvable', reason: this.#reasonOf(error, ref) };
    }
  }

  /** Returns null when the store has it neither for the platform nor for all. */
  async #capsule(ref: ArtifactRef, kept: Kept | undefined): Promise<ResolvedCapsule | null> {
    const { root, platform, now } = this.#options;
    const key = spell(ref);
    const files = kept?.files ?? filesOf(root, ref, platform);
    const state = stateOf(files);
    this.#kept.delete(key);
    if (kept?.identity === state.identity) {
      this.#kept.set(key, kept);
      return await kept.capsule;
    }
    if (findStored(root, ref, platform) === null) return null;
    const capsule = readCapsule(ref, this.#options);
    // A change now could leave the state as it is: nothing that was read is good for longer than this resolve.
    if (now() - state.changedAtMs <= coarsestFileTimeMs) return await capsule;
    return await this.#keep(key, { files, identity: state.identity, capsule });
  }

  async #keep(key: string, entry: Kept): Promise<ResolvedCapsule> {
    this.#kept.set(key, entry);
    const isLasting = await entry.capsule.then(() => true, isRefusalOfContent);
    if (!isLasting && this.#kept.get(key) === entry) this.#kept.delete(key);
    return await entry.capsule;
  }

  #reasonOf(error: Diagnostic | DiagnosticList, ref: ArtifactRef): string {
    const { root, platform } = this.#options;
    const problems = error instanceof DiagnosticList ? error.diagnostics.filter(isError) : [error];
    const told = problems.slice(0, maxProblems).map(({ message }) => message);
    const more = problems.length - told.length;
    const sentence = `${spell(ref)} cannot be resolved: ${told.join('; ')}${more === 0 ? '' : `; and ${more} more problems`}`;
    // A client has no business with the paths of this machine.
    return [variantPaths(root, ref, platform), variantPaths(root, ref, null)]
      .reduce((text, { archive }) => text.replaceAll(archive, 'its archive'), sentence)
      .replaceAll(root, 'the registry');
  }
}

function isError({ code }: Diagnostic): boolean {
  return code.startsWith('E-');
}

/** What the operating system refuses now it may grant later, with no change to the files. */
function isRefusalOfContent(error: unknown): boolean {
  return error instanceof DiagnosticList || (error instanceof Diagnostic && error.code !== 'E-IO-001');
}

/** Why nothing can have this name and version, as a sentence; both become a path. */
function refFault({ name, version }: ArtifactRef): string | null {
  if (!isArtifactName(name)) return `${quoted(name)} is not the name of a capsule`;
  const reading = exactVersion.safeParse(version);
  return reading.success
    ? null
    : `version ${quoted(version)} of ${name} ${reading.error.issues[0]?.message ?? 'is not valid'}`;
}

interface CapsuleStore {
  /** A directory laid out as a store (docs/cli.md "Files"). It need not exist, and nothing is ever written. */
  readonly root: string;
  /** `<os>-<arch>`: its variant goes before the generic file. */
  readonly platform: string;
  /** What `${VARIABLE}` references are resolved from: the daemon's own (D2 "Daemon options" 6). */
  readonly env: Environment;
}

/**
 * Reads a capsule that the store has: its bytes have the recorded hash, and of them only the manifest is unpacked, into memory.
 * Throws a `Diagnostic` or `DiagnosticList`: what `openStored` throws, `E-ART-004` and `E-ART-005` when it is no such capsule, and
 * what its manifest is refused with. `inference.api_key` is not resolved.
 */
async function readCapsule(ref: ArtifactRef, { root, platform, env }: CapsuleStore): Promise<ResolvedCapsule> {
  const { stored, archive } = await openStored(root, ref, platform);
  try {
    const text = await readManifestText(archive);
    if (archiveKind(text, manifestFile) !== 'capsule') throw new Diagnostic('E-ART-005', 'it is not a capsule');
    const loaded = loadCapsuleManifest({ file: manifestFile, text, env, purpose: 'inspect' });
    const { name, version } = loaded.manifest;
    // Its own name is not repeated: it may have come from a variable.
    if (name !== ref.name || version !== ref.version) {
      throw new Diagnostic('E-ART-005', `its ${manifestFile} does not say that it is ${spell(ref)}`);
    }
    return { name, version, sha256: stored.sha256, envelope: envelopeOf(lower(loaded).grants, loaded.references) };
  } finally {
    await archive.file.close();
  }
}

/** The state of the files of an artifact at one moment, found without reading them. */
interface StoredState {
  /** Equal for two moments only when nothing was written, replaced, added or removed between them, but see `changedAtMs`. */
  readonly identity: string;
  /** When the youngest of them changed, Unix milliseconds; file systems keep it coarsely, so a later change can bear the same time. */
  readonly changedAtMs: number;
}

/** The files by which `findStored` finds an artifact, whether they are there or not. */
function filesOf(root: string, ref: ArtifactRef, platform: string): readonly string[] {
  return [variantPaths(root, ref, platform), variantPaths(root, ref, null)].flatMap(({ archive, hash }) => [
    archive,
    hash,
  ]);
}

/** The state of the files now. `E-IO-001` when one cannot be looked at or is no regular file. */
function stateOf(files: readonly string[]): StoredState {
  let identity = '';
  let changedAtMs = 0;
  for (const file of files) {
    const stat = lookAt(file);
    if (stat === undefined) {
      identity += '-|';
      continue;
    }
    if (!stat.isFile()) throw new Diagnostic('E-IO-001', `cannot read ${file}: it is not a regular file`);
    identity += `${identityOf(stat)}|`;
    changedAtMs = Math.max(changedAtMs, Number(stat.ctimeMs));
  }
  return { identity, changedAtMs };
}

function lookAt(file: string): BigIntStats | undefined {
  try {
    return statSync(file, { bigint: true, throwIfNoEntry: false });
  } catch (error) {
    // From Node 24 on, Node reports this as absent too.
    if (isErrno(error, 'ENOTDIR')) return undefined;
    throw ioFault(error, `cannot read ${file}`);
  }
}
