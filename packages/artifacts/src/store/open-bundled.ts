import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { parseArtifactManifest } from '../manifest/artifact-manifest.ts';
import { readSmallText } from '@svc/kit/files/read-text.ts';
import type { ArtifactManifest } from '../manifest/schema.ts';
import type { ArchivedFiles } from './archived-files.ts';
import type { FoundArtifact } from './installed-artifact.ts';
import type { Location } from './locate.ts';
import type { StoredArchive } from './store-layout.ts';

/**
 * The artifact of the package at a place. It lies on the start path of `svc run`: its manifest is read from beside the archive,
 * nothing is unpacked and nothing hashed, the package being trusted as far as the program itself. What `read` gives is checked.
 */
export function openBundled({ origin, stored }: Location): FoundArtifact {
  const directory = dirname(stored.path);
  const compiledDir = join(directory, 'compiled');
  const open = async (): Promise<ArchivedFiles> => await openArchived(stored);
  return {
    manifest: manifestJson(directory) ?? manifestYaml(directory),
    origin,
    location: stored.path,
    platform: stored.platform,
    sha256: stored.sha256,
    compiledDir: existsSync(compiledDir) ? compiledDir : null,
    read: async (name) => await (await open()).read(name),
    archive: () => chunksOf(open),
  };
}

/** The manifest as the package's build has read and checked it: a tenth of the time that the YAML takes. */
function manifestJson(directory: string): ArtifactManifest | null {
  const reading = readSmallText(join(directory, 'manifest.json'));
  return reading.kind === 'text' ? (JSON.parse(reading.text) as ArtifactManifest) : null;
}

function manifestYaml(directory: string): ArtifactManifest {
  const file = join(directory, 'svc.yaml');
  const reading = readSmallText(file);
  if (reading.kind === 'text') return parseArtifactManifest(reading.text, file).manifest;
  throw new Diagnostic('E-ART-004', `${directory} has no readable svc.yaml`, { hint: 'install svc again' });
}

async function openArchived({ path, sha256 }: StoredArchive): Promise<ArchivedFiles> {
  const { ArchivedFiles } = await import('./archived-files.ts');
  return new ArchivedFiles(path, sha256, null);
}

async function* chunksOf(open: () => Promise<ArchivedFiles>): AsyncGenerator<Uint8Array> {
  yield* (await open()).chunks();
}
