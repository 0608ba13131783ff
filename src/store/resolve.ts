import { Diagnostic, DiagnosticList } from '../diagnostics/diagnostic.ts';
import type { ArtifactEntry } from '../manifest/schema.ts';
import { type ArtifactRef, spell } from './artifact-ref.ts';
import type { ArtifactSource } from './artifact-source.ts';
import { bundledRoot, findBundled } from './find-bundled.ts';
import type { FoundArtifact, InstalledArtifact } from './installed-artifact.ts';
import { checkIdentity, skillFile } from './inspect-content.ts';
import { storedVersions } from './list-stored.ts';
import { createLock, type LockedArtifact, lockFaults, readLock } from './lockfile.ts';
import { storeRoot } from './store-layout.ts';

/** Where artifacts are looked for. */
export interface StorePlaces {
  readonly manifestDir: string;
  readonly userHome: string;
  readonly packageRoot: string;
  /** `<os>-<arch>` of this machine. */
  readonly platform: string;
  /** Asked in this order for what no local place has; none with `--offline`. */
  readonly sources: readonly ArtifactSource[];
}

export interface ResolveRequest extends StorePlaces {
  readonly entries: readonly ArtifactEntry[];
  /** `hold`: `svc.lock` is made when there is none, else every artifact has to agree with it. `ignore`: it is not looked at. */
  readonly lock: 'hold' | 'ignore';
}

/** What became of one entry. */
export type Resolution =
  | { readonly kind: 'installed'; readonly artifact: InstalledArtifact }
  | { readonly kind: 'failed'; readonly entry: ArtifactEntry; readonly fault: Diagnostic | DiagnosticList };

/**
 * Finds every artifact of a manifest, in its order: `source:` of the entry, the package, the store of the project, the store of
 * the user, then the configured sources. Throws every problem at once: `E-REG-001` for what is found nowhere, `E-ART-…` for
 * what cannot be used, `E-RUN-003` for what differs from `svc.lock`, `E-IO-001` when `svc.lock` cannot be made.
 */
export async function resolveArtifacts(request: ResolveRequest): Promise<readonly InstalledArtifact[]> {
  const resolutions = await resolveEach(request.entries, request);
  const faults = resolutions.flatMap((resolution) => (resolution.kind === 'failed' ? listed(resolution.fault) : []));
  refuse(faults);
  const artifacts = resolutions.flatMap((resolution) => (resolution.kind === 'installed' ? [resolution.artifact] : []));
  if (request.lock === 'hold') await holdToLock(request.manifestDir, artifacts);
  return artifacts;
}

/** As `resolveArtifacts` without the lock; what cannot be used is told per entry. */
export async function resolveEach(entries: readonly ArtifactEntry[], places: StorePlaces): Promise<Resolution[]> {
  return await Promise.all(entries.map(async (entry) => await resolveEntry(entry, places)));
}

/** What `svc.lock` records of an artifact. */
export function lockedAs(artifact: InstalledArtifact): LockedArtifact & { readonly location: string } {
  const { manifest, platform, sha256, location } = artifact;
  return { name: manifest.name, version: manifest.version, platform, sha256, location };
}

/** The bundled, project or user artifact, else the one that a source has, which then is in the project's store; null when none. */
export async function findArtifact(ref: ArtifactRef, places: StorePlaces): Promise<FoundArtifact | null> {
  const bundled = findBundled(places.packageRoot, ref);
  if (bundled !== null) return bundled;
  // Loaded only here: a capsule of bundled artifacts starts without the code that reads archives.
  const { findInStore } = await import('./find-stored.ts');
  const { platform } = places;
  const project = { root: storeRoot(places.manifestDir), origin: 'project', ref, platform } as const;
  const local =
    (await findInStore(project)) ??
    (await findInStore({ root: storeRoot(places.userHome), origin: 'user', ref, platform }));
  if (local !== null) return local;
  for (const source of places.sources) {
    if (await fetchFrom(source, { ref, places })) return await findInStore(project);
  }
  return null;
}

/** `E-REG-001`, naming every place that was looked at and the versions that are there instead. */
export function foundNowhere(ref: ArtifactRef, places: StorePlaces): Diagnostic {
  const roots = {
    'bundled artifacts': bundledRoot(places.packageRoot),
    'project store': storeRoot(places.manifestDir),
    'user store': storeRoot(places.userHome),
  };
  const others = Object.entries(roots).flatMap(([place, root]) =>
    storedVersions(root, ref.name).map((version) => `${version} (${place})`),
  );
  const looked = [
    'the bundled artifacts',
    `the project store (${roots['project store']})`,
    `the user store (${roots['user store']})`,
    ...places.sources.map((source) => `the source ${source.name}`),
  ];
  const unasked = places.sources.length === 0 ? '; no artifact source is configured' : '';
  return new Diagnostic('E-REG-001', `${spell(ref)} for ${places.platform} is not in ${looked.join(', ')}${unasked}`, {
    hint:
      others.length > 0
        ? `there is ${ref.name} in version ${others.join(', ')}`
        : 'check the name and the version, or give the entry a source: with the path of a directory or archive',
  });
}

async function resolveEntry(entry: ArtifactEntry, places: StorePlaces): Promise<Resolution> {
  try {
    return { kind: 'installed', artifact: await installedFor(entry, places) };
  } catch (error) {
    // Told with the problems of the other entries; everything that is no problem of the operator goes on its way.
    if (error instanceof Diagnostic || error instanceof DiagnosticList) return { kind: 'failed', entry, fault: error };
    throw error;
  }
}

async function installedFor(entry: ArtifactEntry, places: StorePlaces): Promise<InstalledArtifact> {
  const found = await findFor(entry, places);
  if (found === null) throw foundNowhere(entry, places);
  checkIdentity(found.manifest, entry, found.location);
  if (found.manifest.runtime !== entry.runtime) {
    throw new Diagnostic(
      'E-ART-005',
      `${spell(entry)} is a ${found.manifest.runtime}, but the manifest lists it as a ${entry.runtime}`,
      { hint: `set runtime: ${found.manifest.runtime} on its entry of artifacts` },
    );
  }
  const skillText = entry.runtime === 'skill' ? (await found.read(skillFile)).toString('utf8') : null;
  return { ...found, entry, skillText };
}

async function findFor(entry: ArtifactEntry, places: StorePlaces): Promise<FoundArtifact | null> {
  if (entry.source === undefined) return await findArtifact(entry, places);
  const { findSource } = await import('./find-source.ts');
  return await findSource(entry.source, places.manifestDir);
}

async function fetchFrom(
  source: ArtifactSource,
  { ref, places }: { readonly ref: ArtifactRef; readonly places: StorePlaces },
): Promise<boolean> {
  const fetched = await source.fetch(ref, places.platform);
  if (fetched === null) return false;
  const { putArchive } = await import('./store-put.ts');
  await putArchive({
    root: storeRoot(places.manifestDir),
    chunks: fetched.bytes,
    platform: fetched.platform,
    from: source.name,
    expected: ref,
    sha256: fetched.sha256,
  });
  return true;
}

async function holdToLock(manifestDir: string, artifacts: readonly InstalledArtifact[]): Promise<void> {
  if (artifacts.length === 0) return;
  const found = artifacts.map(lockedAs);
  const lock = readLock(manifestDir) ?? (await createLock(manifestDir, found));
  refuse(lockFaults(lock, found));
}

function listed(fault: Diagnostic | DiagnosticList): readonly Diagnostic[] {
  return fault instanceof Diagnostic ? [fault] : fault.diagnostics;
}

function refuse(faults: readonly Diagnostic[]): void {
  const [first] = faults;
  if (first !== undefined) throw faults.length === 1 ? first : new DiagnosticList(faults);
}
