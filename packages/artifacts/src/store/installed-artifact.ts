/** Defines what is known of an artifact that was found and what sources give, and checks that an artifact is the one that was asked for. */

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import type { Chunks } from '@svc/kit/files/replace-file.ts';
import type { PublishedVersion } from '@svc/protocol/version-states.ts';
import type { ArtifactEntry, ArtifactManifest } from '../manifest/schema.ts';
import type { SkillCallers } from '../manifest/skill-file.ts';
import { type ArtifactRef, spell } from './artifact-ref.ts';
import type { PackedFile } from './archive-writer.ts';
import type { LockedArtifact } from './lockfile.ts';
import type { Admission } from './trust/admit.ts';

export const manifestFile = 'svc.yaml';
export const skillFile = 'skill.md';
/** The file that a standard skill folder is about. */
export const standardSkillFile = 'SKILL.md';

/** Where an artifact was found, in the order of looking: `source:` of its entry, the package, the project, the user. */
export type ArtifactOrigin = 'source' | 'bundled' | 'project' | 'user';

/** An artifact that is on this machine, and its manifest. */
export interface FoundArtifact {
  readonly manifest: ArtifactManifest;
  readonly origin: ArtifactOrigin;
  /** The directory or archive it lies in. */
  readonly location: string;
  /** The variant it is; null for the generic file. */
  readonly platform: string | null;
  /** The hash of its archive in lowercase hex; for a directory, of the archive that it would make. */
  readonly sha256: string;
  /** Where its component lies compiled; null when it has to be compiled. */
  readonly compiledDir: string | null;
  /** What the trust policy says to it; absent for what comes with `svc`. */
  readonly admission?: Admission;
  /** The document of an OCI registry that it was fetched by just now (`LockedArtifact.from`). */
  readonly from?: string;
  /** Is the folder that its author changes: `svc.lock` does not hold it to its bytes. */
  readonly inPlace?: {
    /** `W-ART-001` where its component is older than what it is built from. */ readonly stale: Diagnostic | null;
  };
  /** What a standard skill folder holds; absent of everything else, and of a skill of `svc.yaml` and `skill.md`. */
  readonly skill?: SkillFolder;
  /** One file of it, such as `component.wasm`; `E-ART-001` or `E-ART-006` when the bytes are not those of `sha256`. */
  read(file: string): Promise<Buffer>;
  /** The bytes that `sha256` is over. */
  archive(): Chunks;
}

/** A skill whose folder holds `SKILL.md` in place of `svc.yaml` (docs/skills.md). */
export interface SkillFolder {
  /** The words of `allowed-tools`; null without any. */
  readonly allowed: readonly string[] | null;
  readonly callers: SkillCallers;
  readonly compatibility: string | null;
  /** Fields of `SKILL.md` that neither the standard knows nor `svc` uses. */
  readonly otherFields: readonly string[];
  /** All files but `SKILL.md`, sorted. */
  readonly files: readonly string[];
  /** The name of the program that runs a file, for those that are scripts. */
  readonly scripts: Readonly<Record<string, string>>;
  /** All files. `E-ART-006` when they are not those of `sha256` any more. */
  readonly readAll: () => Promise<readonly PackedFile[]>;
}

/** Looks at an artifact before it is stored; what it throws refuses it. `read` gives one file of it. */
export type ArtifactCheck = (
  manifest: ArtifactManifest,
  content: { readonly read: (file: string) => Promise<Buffer> },
) => Promise<void>;

/** An artifact found for an entry of the manifest and checked against it. */
export interface InstalledArtifact extends FoundArtifact {
  readonly entry: ArtifactEntry;
  /** The text of a skill of `svc.yaml` and `skill.md`; null for everything else. */
  readonly skillText: string | null;
}

/** One archive on its way from a source; `bytes` is read once. The receiver calls `discard` in the end, read or not. */
export interface FetchedArchive {
  /** The platform it is a variant for; null for the generic file. */
  readonly platform: string | null;
  /** What the source says the bytes hash to; the store refuses them with `E-REG-002` when they do not. Is null when it does not say. */
  readonly sha256: string | null;
  /** How many bytes are announced; null when nothing is. */
  readonly size: number | null;
  readonly bytes: AsyncIterable<Uint8Array>;
  /** Where the source says that this version should not be used any more. */
  readonly state?: 'deprecated' | 'yanked';
  /** The document of an OCI registry that has it (`LockedArtifact.from`). */
  readonly from?: string;
  /** What is received in its place after a failure: another place has the same bytes. Returns null if nothing can be done about it. */
  instead?(fault: Diagnostic): FetchedArchive | null;
  /** Lets go of the connection. */
  discard(): void;
}

/** A place beyond this machine that artifacts come from. */
export interface ArtifactSource {
  /** The name that the operator gave it, for messages. */
  readonly name: string;
  /**
   * The variant for `platform`, else the generic file; null when the source has neither. Throws a Diagnostic on failure. `held` is given where nothing
   * else than what `svc.lock` records may come: a source that its place lies in fetches that very document.
   */
  fetch(ref: ArtifactRef, platform: string, held?: LockedArtifact): Promise<FetchedArchive | null>;
  /** The bundles that it has for an archive of its; none where it keeps none. Absent for a source that never does. */
  signatures?(archive: LockedArtifact): Promise<readonly string[]>;
  /** Every version of an artifact, with its state; null where the source has none, or keeps no such list. Absent where no source of its kind does. */
  versions?(name: string): Promise<readonly PublishedVersion[] | null>;
}

/** Hears of downloads while they go on; `what` is an artifact as it is spelt, or the name of a file. */
export interface FetchObserver {
  started(what: string, announcedBytes: number | null): void;
  received(what: string, bytes: number): void;
  /** It is in the store, or was refused. */
  ended(what: string, outcome: { readonly source: string; readonly isStored: boolean }): void;
}

/** `E-ART-005` for a capsule where another artifact is wanted. */
export function capsuleAt(where: string): Diagnostic {
  return new Diagnostic('E-ART-005', `${where} is a capsule, not a driver, tool, hook or skill`);
}

/** `E-ART-005` unless the artifact is the one that was asked for. */
export function checkIdentity(found: ArtifactRef, wanted: ArtifactRef, where: string): void {
  if (found.name === wanted.name && found.version === wanted.version) return;
  throw new Diagnostic('E-ART-005', `${where} is ${spell(found)}, not ${spell(wanted)}`, {
    hint:
      found.name === wanted.name
        ? `set version: ${found.version} on the entry of ${found.name}, or name the version that you want there`
        : 'make the place that names it agree with its svc.yaml',
  });
}
