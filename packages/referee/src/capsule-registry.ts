/** What the referee needs to know of a capsule, and where it asks for it. */

import type { SpawnEnvelope } from '@svc/artifacts/grants/spawn-envelope.ts';

/** A published capsule as the referee sees it: which bytes it is, and what it may hold. */
export interface ResolvedCapsule {
  readonly name: string;
  readonly version: string;
  /** Content hash of the artifact, 64 lowercase hex. */
  readonly sha256: string;
  /** Its `capabilities.spawn.allow` is part of the envelope. */
  readonly envelope: SpawnEnvelope;
}

export type Resolution =
  | { readonly kind: 'resolved'; readonly capsule: ResolvedCapsule }
  /** `reason` is a whole sentence for a person. */
  | { readonly kind: 'unresolvable'; readonly reason: string };

/** Finds a capsule by exact version in the local registry, reads its manifest and lowers it (D2 "What the service does" 2). */
export interface CapsuleRegistry {
  resolve(name: string, version: string): Promise<Resolution>;
}
