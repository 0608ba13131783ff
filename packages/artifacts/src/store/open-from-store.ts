import { ArchivedFiles } from './archived-files.ts';
import { parseStoredManifest, readManifestText } from './inspect-content.ts';
import type { FoundArtifact } from './installed-artifact.ts';
import type { Location } from './locate.ts';
import { openStored } from './open-stored.ts';

/** The artifact of a local store, its bytes verified (`E-ART-006`). */
export async function openFromStore({ origin, root, stored }: Location, platform: string): Promise<FoundArtifact> {
  const opened = await openStored(root, stored, platform);
  const { archive } = opened;
  try {
    const { path, sha256 } = opened.stored;
    const files = new ArchivedFiles(path, sha256, archive.file.identity);
    return {
      manifest: parseStoredManifest(await readManifestText(archive), archive.where),
      origin,
      location: path,
      platform: opened.stored.platform,
      sha256,
      compiledDir: null,
      read: async (file) => await files.read(file),
      archive: () => files.chunks(),
    };
  } finally {
    await archive.file.close();
  }
}
