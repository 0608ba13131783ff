import type { ArtifactRef } from './artifact-ref.ts';

/** One archive on its way from a source; `bytes` is read once. */
export interface FetchedArchive {
  /** The platform it is a variant for; null for the generic file. */
  readonly platform: string | null;
  /** What the source says the bytes hash to; the store refuses them with `E-REG-002` when they do not. */
  readonly sha256: string;
  readonly bytes: AsyncIterable<Uint8Array>;
}

/** A place beyond this machine that artifacts come from. */
export interface ArtifactSource {
  /** As the operator named it, for messages. */
  readonly name: string;
  /** The variant for `platform`, else the generic file; null when the source has neither. Throws a Diagnostic on failure. */
  fetch(ref: ArtifactRef, platform: string): Promise<FetchedArchive | null>;
}
