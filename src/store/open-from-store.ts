import { Diagnostic } from '../diagnostics/diagnostic.ts';
import { archiveKind, parseArtifactManifest } from '../manifest/artifact-manifest.ts';
import { ArchivedFiles } from './archived-files.ts';
import type { ArtifactContent } from './artifact-content.ts';
import { manifestFile, readManifestText } from './inspect-content.ts';
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
      manifest: await manifestOf(archive),
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

async function manifestOf(content: ArtifactContent): Promise<FoundArtifact['manifest']> {
  const text = await readManifestText(content);
  const file = `${content.where}/${manifestFile}`;
  if (archiveKind(text, file) === 'artifact') return parseArtifactManifest(text, file).manifest;
  throw notAnArtifact(content.where);
}

/** `E-ART-005` for a capsule where a driver, tool, hook or skill is wanted. */
export function notAnArtifact(where: string): Diagnostic {
  return new Diagnostic('E-ART-005', `${where} is a capsule, not a driver, tool, hook or skill`);
}
