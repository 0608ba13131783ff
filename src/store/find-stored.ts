import { parseArtifactManifest } from '../manifest/artifact-manifest.ts';
import { ArchivedFiles } from './archived-files.ts';
import type { Archive } from './archive.ts';
import type { ArtifactRef } from './artifact-ref.ts';
import { manifestFile, readManifestText } from './inspect-content.ts';
import type { FoundArtifact } from './installed-artifact.ts';
import { openStored } from './open-stored.ts';

export interface StoreQuery {
  readonly root: string;
  readonly origin: 'project' | 'user';
  readonly ref: ArtifactRef;
  readonly platform: string;
}

/** An artifact of a local store, its bytes verified; null when the store does not have it. */
export async function findInStore({ root, origin, ref, platform }: StoreQuery): Promise<FoundArtifact | null> {
  const opened = await openStored(root, ref, platform);
  if (opened === null) return null;
  const { stored, archive } = opened;
  try {
    const files = new ArchivedFiles(stored.path, stored.sha256, archive.file.identity);
    return {
      manifest: await manifestOf(archive),
      origin,
      location: stored.path,
      platform: stored.platform,
      sha256: stored.sha256,
      compiledDir: null,
      read: async (file) => await files.read(file),
      archive: () => files.chunks(),
    };
  } finally {
    await archive.file.close();
  }
}

async function manifestOf(archive: Archive): Promise<FoundArtifact['manifest']> {
  return parseArtifactManifest(await readManifestText(archive), `${archive.where}/${manifestFile}`).manifest;
}
