import { archiveKind, parseArtifactManifest } from '../manifest/artifact-manifest.ts';
import { readArchive } from './archive.ts';
import { type ArtifactKind, manifestFile, readManifestText } from './inspect-content.ts';
import { RegularFile } from '@svc/kit/files/regular-file.ts';

/** What the manifest in an archive says it is. Throws what is wrong with the archive or its manifest. */
export async function kindOfArchive(path: string): Promise<ArtifactKind> {
  const file = await RegularFile.open(path);
  try {
    const text = await readManifestText(await readArchive(file));
    const name = `${path}/${manifestFile}`;
    return archiveKind(text, name) === 'capsule' ? 'capsule' : parseArtifactManifest(text, name).manifest.runtime;
  } finally {
    await file.close();
  }
}
