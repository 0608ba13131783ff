/** Opens an artifact from the directory or archive that its entry names. */

import { existsSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { ioFault } from '@svc/kit/files/io-fault.ts';
import { RegularFile } from '@svc/kit/files/regular-file.ts';
import type { ArtifactEntry, ArtifactManifest } from '../manifest/schema.ts';
import type { ArtifactRef } from './artifact-ref.ts';
import { ArchivedFiles, skillOf } from './open-stored.ts';
import { packArchive } from './archive-writer.ts';
import { readArchive } from './archive.ts';
import { readArtifactDirectory, staleComponent } from './directory-content.ts';
import { type ArtifactContent, checkRequiredFile, readArtifactManifest } from './inspect-content.ts';
import { type FoundArtifact, manifestFile, standardSkillFile } from './installed-artifact.ts';
import { readSkillFolder } from './read-skill-folder.ts';
import { isSkillFolder } from './skill-folder.ts';
import type { StorePlaces } from './store-places.ts';
import { admitSource } from './trust/admit-stored.ts';

/** An entry of a manifest that names the directory or archive of its artifact. */
export type SourceEntry = Pick<ArtifactEntry, 'name' | 'version'> & { readonly source: string };

/**
 * Opens the artifact that `source:` of an entry names: a directory, which is read in place, or an archive (docs/manifest.md "Keys"). Throws the error
 * of `admit` when the trust policy refuses the artifact.
 */
export async function openSource({ source, ...ref }: SourceEntry, places: StorePlaces): Promise<FoundArtifact> {
  const path = resolve(places.manifestDir, source);
  const isFolder = await isDirectory(path, source);
  const found = isFolder ? await fromDirectory(path, ref) : await fromArchive(path);
  const archive = { ref, sha256: found.sha256, chunks: () => found.archive(), path: isFolder ? null : path };
  return { ...found, admission: await admitSource(archive, places) };
}

async function fromDirectory(path: string, ref: ArtifactRef): Promise<FoundArtifact> {
  if (isSkillFolder(path)) return await readSkillFolder(path, ref);
  if (!existsSync(join(path, manifestFile)))
    throw new Diagnostic('E-ART-004', `${path} has neither ${manifestFile} nor ${standardSkillFile} at its root`, {
      hint: `${manifestFile} lies beside the files it is about; a skill may have ${standardSkillFile} in its place, in capitals`,
    });
  const content = await readArtifactDirectory(path);
  return {
    manifest: await readManifest(content),
    origin: 'source',
    location: path,
    platform: null,
    sha256: await content.sha256(),
    compiledDir: null,
    inPlace: { stale: await staleComponent(content) },
    read: async (file) => await content.read(file),
    archive: () => packArchive(content.files),
  };
}

async function fromArchive(path: string): Promise<FoundArtifact> {
  const file = await RegularFile.open(path);
  try {
    const sha256 = await file.sha256();
    const archive = await readArchive(file);
    const manifest = await readManifest(archive);
    const files = new ArchivedFiles(path, sha256, file.identity);
    return {
      manifest,
      origin: 'source',
      location: path,
      platform: null,
      sha256,
      compiledDir: null,
      read: async (name) => await files.read(name),
      archive: () => files.chunks(),
      ...(await skillOf(archive, files, manifest)),
    };
  } finally {
    await file.close();
  }
}

async function readManifest(content: ArtifactContent): Promise<ArtifactManifest> {
  const manifest = await readArtifactManifest(content);
  await checkRequiredFile(content, manifest);
  return manifest;
}

async function isDirectory(path: string, source: string): Promise<boolean> {
  try {
    return (await stat(path)).isDirectory();
  } catch (error) {
    throw ioFault(error, `cannot read source: ${source}`);
  }
}
