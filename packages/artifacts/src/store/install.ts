import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import type { ArtifactEntry } from '../manifest/schema.ts';
import { kindOfArchive } from './archive-kind.ts';
import { type ArtifactRef, spell } from './artifact-ref.ts';
import type { ArtifactOrigin, FoundArtifact, InstalledArtifact } from './installed-artifact.ts';
import { locate, type Location, type StorePlaces } from './locate.ts';
import { readLock, upsertLock } from './lockfile.ts';
import { commandWith, usualManifest } from './manifest-option.ts';
import { openBundled } from './open-bundled.ts';
import { openFromStore } from './open-from-store.ts';
import { openStored } from './open-stored.ts';
import { chunksOfFile } from '@svc/kit/files/regular-file.ts';
import { foundIn, lockedAs, resolveArtifacts, resolveEach } from './resolve.ts';
import { storeRoot } from './store-layout.ts';
import { putArchive } from './store-put.ts';

export interface InstallRequest extends StorePlaces {
  /** What the manifest needs; only this is recorded in `svc.lock`. */
  readonly entries: readonly ArtifactEntry[];
  /** The manifest as the user named it: hints repeat it. */
  readonly manifestFile?: string;
  /** Makes an artifact ready for its first run; what it throws refuses the whole install. */
  readonly prepare: (artifact: FoundArtifact) => Promise<void>;
  /** Told of each artifact once it is in the store that it is installed into (`fetching.into`). */
  readonly onStored: (ref: ArtifactRef) => void;
  readonly onWarning: (warning: Diagnostic) => void;
}

/** Where an artifact was found that is now in a store. */
export interface InstalledRef extends ArtifactRef {
  readonly platform: string | null;
  readonly sha256: string;
  readonly origin: ArtifactOrigin;
}

/**
 * Brings every artifact of the manifest into the store of the project, or of the user, and records it in the project's `svc.lock` (D1
 * "Command line" `svc install`). Every problem is thrown at once, and nothing is recorded then; a run that is interrupted can be
 * repeated. With `isFrozen`, `svc.lock` has to agree already and is not written.
 */
export async function installEntries(request: InstallRequest): Promise<readonly InstalledArtifact[]> {
  const { into = 'project', isFrozen = false } = request.fetching ?? {};
  const artifacts = await resolveArtifacts({ ...request, lock: isFrozen ? 'frozen' : 'ignore' });
  for (const artifact of artifacts) await request.prepare(artifact);
  for (const artifact of artifacts) {
    if (artifact.origin !== into) {
      await putArchive({
        root: targetRoot(request),
        chunks: artifact.archive(),
        platform: artifact.platform,
        from: artifact.location,
        expected: artifact.entry,
        sha256: artifact.sha256,
      });
    }
    request.onStored(artifact.entry);
  }
  if (into === 'project' && !isFrozen) await upsertLock(request.manifestDir, artifacts.map(lockedAs));
  return artifacts;
}

/**
 * Brings one artifact into the store (D1 "Command line" `svc install <artifact-name@version>`). `svc.lock` records it when the manifest
 * lists it and takes it from no `source:` (`record`).
 */
export async function installRef(ref: ArtifactRef, request: InstallRequest): Promise<InstalledRef> {
  const location = await locate(ref, request);
  const opened = await openStored(location.root, ref, location.stored.platform ?? '');
  const { platform, path, sha256 } = opened.stored;
  await opened.archive.file.close();
  await prepareStored(location, request);
  if (location.origin !== (request.fetching?.into ?? 'project')) {
    const chunks = chunksOfFile(path);
    await putArchive({ root: targetRoot(request), chunks, platform, from: path, expected: ref, sha256 });
  }
  const installed: InstalledRef = { ...ref, platform, sha256, origin: location.origin };
  await record([installed], request);
  return installed;
}

/** A capsule is stored like any artifact; the artifacts that it needs in turn are installed when it is run. */
export async function prepareStored(location: Location, request: InstallRequest): Promise<void> {
  if ((await kindOfArchive(location.stored.path)) === 'capsule') return;
  const artifact =
    location.origin === 'bundled'
      ? openBundled(location)
      : await openFromStore(location, location.stored.platform ?? '');
  await request.prepare(artifact);
}

/**
 * Records what is in the store of the project now in `svc.lock`, as far as the manifest lists it. A lock that does not exist yet is made whole
 * or not at all (contracts §2): of what is on this machine, else `W-REG-002` says what it would lack.
 */
export async function record(installed: readonly InstalledRef[], request: InstallRequest): Promise<void> {
  for (const ref of installed) request.onStored(ref);
  const { manifestDir, entries, fetching } = request;
  const needed = installed.filter((ref) => entries.some((entry) => isSame(entry, ref)));
  if (needed.length === 0 || fetching?.into === 'user') return;
  if (readLock(manifestDir) !== null) {
    await upsertLock(manifestDir, needed);
    return;
  }
  const resolutions = await resolveEach(entries, { ...request, sources: () => [] });
  const missing = resolutions.flatMap((resolution) => (resolution.kind === 'failed' ? [resolution.entry] : []));
  if (missing.length > 0) request.onWarning(lockNotMade(missing, request.manifestFile));
  else await upsertLock(manifestDir, resolutions.flatMap(foundIn).map(lockedAs));
}

function lockNotMade(missing: readonly ArtifactEntry[], manifestFile = usualManifest): Diagnostic {
  const what = missing.map(spell).join(', ');
  return new Diagnostic('W-REG-002', `svc.lock is not written yet: the manifest also needs ${what}`, {
    hint: `${commandWith('svc install', manifestFile)} installs all that the manifest needs, and writes svc.lock`,
  });
}

export function targetRoot({ manifestDir, userHome, fetching }: StorePlaces): string {
  return storeRoot(fetching?.into === 'user' ? userHome : manifestDir);
}

function isSame(entry: ArtifactEntry, ref: ArtifactRef): boolean {
  return entry.source === undefined && entry.name === ref.name && entry.version === ref.version;
}
