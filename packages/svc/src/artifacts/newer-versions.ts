/** Finds out which versions there are of what a project uses. */

import type { ArtifactEntry } from '@svc/artifacts/manifest/schema.ts';
import {
  type Candidate,
  type Candidates,
  chooseVersion,
  listedBy,
  storedHere,
} from '@svc/artifacts/store/choose-version.ts';
import { storedVersions } from '@svc/artifacts/store/list-stored.ts';
import { inParallel } from '@svc/artifacts/store/resolve.ts';
import type { RegistryInUse } from '@svc/artifacts/store/sources/registry-in-use.ts';
import { bundledRoot } from '@svc/artifacts/store/store-layout.ts';
import { compareVersions } from '@svc/artifacts/store/version-ranges.ts';
import type { StateOfVersion } from '@svc/protocol/version-states.ts';
import { needsRegistry } from '../command/project.ts';
import type { OpenedProject } from './opened-project.ts';

const askedAtOnce = 4;

/**
 * Taken from a path, from a place of its own, or from what comes with this `svc`. `outgrown`: its version came with an earlier `svc`, and this one has
 * another in its place.
 */
type Apart = 'source' | 'from' | 'bundled' | 'outgrown';

/** What the registry in use has of one entry of the manifest. */
export interface Standing {
  readonly entry: ArtifactEntry;
  /** Why the registry has no say in it; null where it has. */
  readonly apart: Apart | null;
  /** It is null where the registry has no such artifact, or no lists. */
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
  const { platform } = opened.request;
  if (apart === 'outgrown') {
    const candidates = bundledHere(entry.name, opened);
    const latest = chooseVersion(candidates, '*', platform);
    const wanted = entry.range === undefined ? latest : chooseVersion(candidates, entry.range, platform);
    return { entry, apart, candidates, now: null, wanted, latest };
  }
  if (apart !== null || registry?.kind !== 'registry') return nothing;
  const candidates = await listedBy(registry.client, entry.name);
  if (candidates === null) return nothing;
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

function apartness(entry: ArtifactEntry, opened: OpenedProject): Apart | null {
  const { name, version, source, from } = entry;
  if (source !== undefined) return 'source';
  if (from !== undefined) return 'from';
  const { all } = bundledHere(name, opened);
  if (all.some((bundled) => bundled.version === version)) return 'bundled';
  // What is in a store was put there on purpose.
  if (all.length === 0 || isStored(entry, opened)) return null;
  return 'outgrown';
}

/** What comes with this `svc` under a name. */
function bundledHere(name: string, { request }: OpenedProject): Candidates {
  const versions = storedVersions(bundledRoot(request.packageRoot), name);
  return { where: 'this svc', all: versions.map((version) => ({ version, listed: null })) };
}

function isStored({ name, version }: ArtifactEntry, { request }: OpenedProject): boolean {
  return storedHere(request, name).all.some((stored) => stored.version === version);
}

/** Whether a version is to take the place of the one in use: a lower one only where that is yanked, blocked, or gone. */
export function replacesInUse({ entry, apart, now }: Standing, { version }: Candidate): boolean {
  if (version === entry.version) return false;
  const isTakenBack = apart === 'outgrown' || now?.state === 'yanked' || now?.state === 'blocked';
  return isTakenBack || compareVersions(version, entry.version) > 0;
}

/** `E-REG-006` unless a registry that lists versions is in use; `what` says what is missing without one. */
export function refuseUnlisted(opened: OpenedProject, what: string): void {
  const registry = opened.registry();
  if (registry.kind !== 'registry') throw needsRegistry(registry, { lacks: 'lists no versions', what });
}

/** Whether no registry has a say in any of these. There must be at least one. */
export function needNoRegistry(entries: readonly ArtifactEntry[], opened: OpenedProject): boolean {
  return entries.length > 0 && entries.every((entry) => apartness(entry, opened) !== null);
}
