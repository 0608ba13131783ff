/** Finds out which versions there are of what a project uses. */

import type { ArtifactEntry } from '@svc/artifacts/manifest/schema.ts';
import { type Candidate, type Candidates, chooseVersion, listedBy } from '@svc/artifacts/store/choose-version.ts';
import { inParallel } from '@svc/artifacts/store/resolve.ts';
import type { RegistryInUse } from '@svc/artifacts/store/sources/registry-in-use.ts';
import { bundledRoot, readVariant } from '@svc/artifacts/store/store-layout.ts';
import { compareVersions } from '@svc/artifacts/store/version-ranges.ts';
import type { StateOfVersion } from '@svc/protocol/version-states.ts';
import type { OpenedProject } from './project-change.ts';

const askedAtOnce = 4;

/** Of one entry of the manifest, what the registry in use has. */
export interface Standing {
  readonly entry: ArtifactEntry;
  /** Why the registry has no say in it; null where it has. */
  readonly apart: 'source' | 'from' | 'bundled' | null;
  /** Null where the registry has no such artifact, or no lists. */
  readonly candidates: Candidates | null;
  /** What has become of the version in use; null where that is not known. */
  readonly now: StateOfVersion | null;
  /** The highest version that its range allows; the version in use where it has no range. */
  readonly wanted: Candidate | null;
  /** The highest version of all. */
  readonly latest: Candidate | null;
}

/** The standings of these entries, in their order. Throws what the registry in use is refused with. */
export async function standingsOf(
  entries: readonly ArtifactEntry[],
  opened: OpenedProject,
): Promise<readonly Standing[]> {
  const registry = entries.some((entry) => apartness(entry, opened) === null) ? opened.registry() : null;
  return await inParallel(entries, askedAtOnce, async (entry) => await standingOf(entry, registry, opened));
}

async function standingOf(
  entry: ArtifactEntry,
  registry: RegistryInUse | null,
  opened: OpenedProject,
): Promise<Standing> {
  const apart = apartness(entry, opened);
  const nothing = { entry, apart, candidates: null, now: null, wanted: null, latest: null };
  if (apart !== null || registry?.kind !== 'registry') return nothing;
  const candidates = await listedBy(registry.client, entry.name);
  if (candidates === null) return nothing;
  const { platform } = opened.request;
  const now = candidates.all.find(({ version }) => version === entry.version)?.listed ?? null;
  return {
    entry,
    apart,
    candidates,
    now,
    wanted: chooseVersion(candidates, entry.range ?? entry.version, platform),
    latest: chooseVersion(candidates, '*', platform),
  };
}

function apartness({ name, version, source, from }: ArtifactEntry, { request }: OpenedProject): Standing['apart'] {
  if (source !== undefined) return 'source';
  if (from !== undefined) return 'from';
  return readVariant(bundledRoot(request.packageRoot), { name, version }, null) === null ? null : 'bundled';
}

/** Whether a version is to take the place of the one in use: a lower one only where that is yanked or blocked. */
export function replacesInUse({ entry, now }: Standing, { version }: Candidate): boolean {
  if (version === entry.version) return false;
  const isTakenBack = now?.state === 'yanked' || now?.state === 'blocked';
  return isTakenBack || compareVersions(version, entry.version) > 0;
}
