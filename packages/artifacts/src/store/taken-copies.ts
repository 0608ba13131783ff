/** Decides which copies on this machine a change of a project may take in place of what its source has. */

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { type ArtifactRef, spell } from './artifact-ref.ts';
import { archiveFor, type Candidate } from './choose-version.ts';
import type { CopyRule, StorePlaces } from './store-places.ts';
import type { LockedArtifact } from './lockfile.ts';
import { bundledRoot, readVariant, storeRoot } from './store-layout.ts';

/** A listed version takes only the very archive that its registry lists for this machine; an unlisted one what comes with `svc`. */
export function copiesOfCandidate(candidate: Candidate, platform: string): CopyRule {
  if (candidate.listed === null) return (_, origin) => origin === 'bundled';
  const wanted = archiveFor(candidate, platform);
  return ({ sha256, platform: variant }) => sha256 === wanted?.sha256 && variant === wanted.platform;
}

/** Returns the rule for an entry with a place (`from`): only a copy counts that came from there according to `svc.lock`. */
export function copiesFromPlace(place: string, lock: readonly LockedArtifact[] | null): CopyRule {
  return ({ name, version, platform, sha256 }) =>
    lock?.some((locked) => {
      const isSame = locked.name === name && locked.version === version && locked.platform === platform;
      return isSame && locked.sha256 === sha256 && locked.from?.startsWith(`${place}@`) === true;
    }) ?? false;
}

interface ShadowedArchive {
  readonly platform: string | null;
  readonly sha256: string;
  /** Who has it. */
  readonly by: string;
}

/**
 * `E-REG-031` where `svc run` would find other bytes first than those of this archive in the store of the project: what comes with `svc`, or a variant for
 * this machine where it is the generic file.
 */
export function refuseShadowed(
  ref: ArtifactRef,
  { platform, sha256, by }: ShadowedArchive,
  { packageRoot, manifestDir, platform: ours }: StorePlaces,
): void {
  const bundled = readVariant(bundledRoot(packageRoot), ref, null);
  const variant = platform === null ? readVariant(storeRoot(manifestDir), ref, ours) : null;
  const what = `${by} has ${spell(ref)} with sha256 ${sha256}`;
  if (bundled !== null && bundled.sha256 !== sha256) {
    const message = `${what}, but what comes with svc under that name goes first, with sha256 ${bundled.sha256}`;
    const hint = 'choose another version, or take what comes with svc with --registry local';
    throw new Diagnostic('E-REG-031', message, { hint });
  }
  if (variant !== null && variant.sha256 !== sha256) {
    const message = `${what}, but ${variant.path} goes first, with sha256 ${variant.sha256}`;
    throw new Diagnostic('E-REG-031', message, { hint: `move ${variant.path} away, and run the command again` });
  }
}
