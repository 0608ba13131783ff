import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';

import { parseArtifactManifest } from '../manifest/artifact-manifest.ts';
import { readSmallText, unreadableFile } from '../manifest/read-text.ts';
import type { ArchivedFiles } from './archived-files.ts';
import type { ArtifactRef } from './artifact-ref.ts';
import type { FoundArtifact } from './installed-artifact.ts';
import { readVariant } from './store-layout.ts';

/** The artifacts inside the package; laid out like a store, each with its manifest and its compiled component unpacked beside it. */
export function bundledRoot(packageRoot: string): string {
  return join(packageRoot, 'dist', 'bundled');
}

/**
 * An artifact of the package; null when it has none of that name and version. It lies on the start path of `svc run`: nothing
 * is unpacked and nothing is hashed, the package being trusted as far as the program itself; `read` checks what it reads.
 */
export function findBundled(packageRoot: string, ref: ArtifactRef): FoundArtifact | null {
  const stored = readVariant(bundledRoot(packageRoot), ref, null);
  if (stored === null) return null;
  const directory = dirname(stored.path);
  const manifestPath = join(directory, 'svc.yaml');
  const reading = readSmallText(manifestPath);
  if (reading.kind === 'absent') return null;
  if (reading.kind === 'unreadable') throw unreadableFile(manifestPath, reading);
  const compiledDir = join(directory, 'compiled');
  const open = async (): Promise<ArchivedFiles> => {
    const { ArchivedFiles } = await import('./archived-files.ts');
    return new ArchivedFiles(stored.path, stored.sha256, null);
  };
  return {
    manifest: parseArtifactManifest(reading.text, manifestPath).manifest,
    origin: 'bundled',
    location: stored.path,
    platform: null,
    sha256: stored.sha256,
    compiledDir: existsSync(compiledDir) ? compiledDir : null,
    read: async (file) => await (await open()).read(file),
    archive: () => chunksOf(open),
  };
}

async function* chunksOf(open: () => Promise<ArchivedFiles>): AsyncGenerator<Uint8Array> {
  yield* (await open()).chunks();
}
