import type { ArtifactRef } from './artifact-ref.ts';

/** One archive on its way from a source; `bytes` is read once. Whoever has it calls `discard` in the end, read or not. */
export interface FetchedArchive {
  /** The platform it is a variant for; null for the generic file. */
  readonly platform: string | null;
  /** What the source says the bytes hash to; the store refuses them with `E-REG-002` when they do not. Null when it does not say. */
  readonly sha256: string | null;
  /** How many bytes are announced; null when nothing is. */
  readonly size: number | null;
  readonly bytes: AsyncIterable<Uint8Array>;
  /** Lets go of the connection. */
  discard(): void;
}

/** A place beyond this machine that artifacts come from. */
export interface ArtifactSource {
  /** As the operator named it, for messages. */
  readonly name: string;
  /** The variant for `platform`, else the generic file; null when the source has neither. Throws a Diagnostic on failure. */
  fetch(ref: ArtifactRef, platform: string): Promise<FetchedArchive | null>;
}

/** Hears of downloads while they go on; `what` is an artifact as it is spelt, or the name of a file. */
export interface FetchObserver {
  started(what: string, announcedBytes: number | null): void;
  received(what: string, bytes: number): void;
  /** It is in the store, or was refused. */
  ended(what: string, outcome: { readonly source: string; readonly isStored: boolean }): void;
}
