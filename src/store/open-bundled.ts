import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';

import { parseArtifactManifest } from '../manifest/artifact-manifest.ts';
import { readSmallText, unreadableFile } from '../manifest/read-text.ts';
import type { ArchivedFiles } from './archived-files.ts';
import type { FoundArtifact } from './installed-artifact.ts';
import type { Location } from './locate.ts';
import type { StoredArchive } from './store-layout.ts';

/**
 * The artifact of the package at a place. It lies on the start path of `svc run`: with `svc.yaml` beside the archive nothing is
 * unpacked and nothing hashed, the package being trusted as far as the program itself. What `read` gives is checked.
 */
export async function openBundled(location: Location): Promise<FoundArtifact> {
  const found = besideArchive(location.stored) ?? (await insideArchive(location));
  const compiledDir = join(dirname(location.stored.path), 'compiled');
  return existsSync(compiledDir) ? { ...found, compiledDir } : found;
}

function besideArchive(stored: StoredArchive): FoundArtifact | null {
  const file = join(dirname(stored.path), 'svc.yaml');
  const reading = readSmallText(file);
  if (reading.kind === 'absent') return null;
  if (reading.kind === 'unreadable') throw unreadableFile(file, reading);
  const open = async (): Promise<ArchivedFiles> => {
    const { ArchivedFiles } = await import('./archived-files.ts');
    return new ArchivedFiles(stored.path, stored.sha256, null);
  };
  return {
    manifest: parseArtifactManifest(reading.text, file).manifest,
    origin: 'bundled',
    location: stored.path,
    platform: stored.platform,
    sha256: stored.sha256,
    compiledDir: null,
    read: async (name) => await (await open()).read(name),
    archive: () => chunksOf(open),
  };
}

async function insideArchive(location: Location): Promise<FoundArtifact> {
  const { openFromStore } = await import('./open-from-store.ts');
  return await openFromStore(location, location.stored.platform ?? '');
}

async function* chunksOf(open: () => Promise<ArchivedFiles>): AsyncGenerator<Uint8Array> {
  yield* (await open()).chunks();
}
