import type { ArtifactEntry } from '../manifest/schema.ts';
import { kindOfArchive } from './archive-kind.ts';
import type { ArtifactRef } from './artifact-ref.ts';
import type { ArtifactOrigin, FoundArtifact, InstalledArtifact } from './installed-artifact.ts';
import { locate, type Location, type StorePlaces } from './locate.ts';
import { upsertLock } from './lockfile.ts';
import { openBundled } from './open-bundled.ts';
import { openFromStore } from './open-from-store.ts';
import { openStored } from './open-stored.ts';
import { chunksOfFile } from './regular-file.ts';
import { lockedAs, resolveArtifacts } from './resolve.ts';
import { storeRoot } from './store-layout.ts';
import { putArchive } from './store-put.ts';

export interface InstallRequest extends StorePlaces {
  /** What the manifest needs; only this is recorded in `svc.lock`. */
  readonly entries: readonly ArtifactEntry[];
  /** Makes an artifact ready for its first run; what it throws refuses the whole install. */
  readonly prepare: (artifact: FoundArtifact) => Promise<void>;
  /** Told of each artifact once it is in the store that it is installed into (`fetching.into`). */
  readonly onStored: (ref: ArtifactRef) => void;
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
 * lists it and takes it from no `source:`.
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
  return await recorded({ name: ref.name, version: ref.version, platform, sha256, origin: location.origin }, request);
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

/** Records what is in the store now in `svc.lock`, if the manifest lists it and the store is the project's. */
export async function recorded(installed: InstalledRef, request: InstallRequest): Promise<InstalledRef> {
  request.onStored(installed);
  const { name, version, platform, sha256 } = installed;
  const isListed = request.entries.some((entry) => isSame(entry, installed));
  const isProject = (request.fetching?.into ?? 'project') === 'project';
  if (isListed && isProject) await upsertLock(request.manifestDir, [{ name, version, platform, sha256 }]);
  return installed;
}

export function targetRoot({ manifestDir, userHome, fetching }: StorePlaces): string {
  return storeRoot(fetching?.into === 'user' ? userHome : manifestDir);
}

function isSame(entry: ArtifactEntry, ref: ArtifactRef): boolean {
  return entry.source === undefined && entry.name === ref.name && entry.version === ref.version;
}
