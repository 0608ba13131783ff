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
  /** Makes an artifact ready for its first run, before anything is stored; what it throws refuses the whole install. */
  readonly prepare: (artifact: FoundArtifact) => Promise<void>;
  /** Told of each artifact once it is in the project's store. */
  readonly onStored: (ref: ArtifactRef) => void;
}

/** Where an artifact was found that is now in the store of the project. */
export interface InstalledRef extends ArtifactRef {
  readonly platform: string | null;
  readonly sha256: string;
  readonly origin: ArtifactOrigin;
}

/**
 * Brings every artifact of the manifest into the store of the project and records it in `svc.lock` (D1 "Command line"
 * `svc install`). Every problem is thrown at once, before anything is stored; a run that is interrupted can be repeated.
 */
export async function installEntries(request: InstallRequest): Promise<readonly InstalledArtifact[]> {
  const artifacts = await resolveArtifacts({ ...request, lock: 'ignore' });
  const root = storeRoot(request.manifestDir);
  for (const artifact of artifacts) await request.prepare(artifact);
  for (const artifact of artifacts) {
    if (artifact.origin !== 'project') {
      await putArchive({
        root,
        chunks: artifact.archive(),
        platform: artifact.platform,
        from: artifact.location,
        expected: artifact.entry,
        sha256: artifact.sha256,
      });
    }
    request.onStored(artifact.entry);
  }
  await upsertLock(request.manifestDir, artifacts.map(lockedAs));
  return artifacts;
}

/**
 * Brings one artifact into the store of the project (D1 "Command line" `svc install <artifact-name@version>`). `svc.lock`
 * records it when the manifest lists it and takes it from no `source:`.
 */
export async function installRef(ref: ArtifactRef, request: InstallRequest): Promise<InstalledRef> {
  const location = await locate(ref, request);
  const opened = await openStored(location.root, ref, location.stored.platform ?? '');
  const { platform, path, sha256 } = opened.stored;
  await opened.archive.file.close();
  // A capsule is stored like any artifact; the artifacts that it needs in turn are installed when it is run.
  if ((await kindOfArchive(path)) !== 'capsule') await request.prepare(await open(location));
  if (location.origin !== 'project') {
    const chunks = chunksOfFile(path);
    await putArchive({ root: storeRoot(request.manifestDir), chunks, platform, from: path, expected: ref, sha256 });
  }
  request.onStored(ref);
  const locked = { name: ref.name, version: ref.version, platform, sha256 };
  if (request.entries.some((entry) => isSame(entry, ref))) await upsertLock(request.manifestDir, [locked]);
  return { ...locked, origin: location.origin };
}

async function open(location: Location): Promise<FoundArtifact> {
  return location.origin === 'bundled'
    ? openBundled(location)
    : await openFromStore(location, location.stored.platform ?? '');
}

function isSame(entry: ArtifactEntry, ref: ArtifactRef): boolean {
  return entry.source === undefined && entry.name === ref.name && entry.version === ref.version;
}
