import type { ArtifactEntry, ArtifactManifest } from '../manifest/schema.ts';
import type { Chunks } from '@svc/kit/files/replace-file.ts';

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
  /** Of its archive, in lowercase hex; for a directory, of the archive it makes. */
  readonly sha256: string;
  /** Where its component lies compiled; null when it has to be compiled. */
  readonly compiledDir: string | null;
  /** One file of it, such as `component.wasm`; `E-ART-001` or `E-ART-006` when the bytes are not those of `sha256`. */
  read(file: string): Promise<Buffer>;
  /** The bytes that `sha256` is over. */
  archive(): Chunks;
}

/** An artifact found for an entry of the manifest and checked against it. */
export interface InstalledArtifact extends FoundArtifact {
  readonly entry: ArtifactEntry;
  /** The text of a skill; null for everything else. */
  readonly skillText: string | null;
}
