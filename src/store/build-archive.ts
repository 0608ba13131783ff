import { join } from 'node:path';

import type { Diagnostic } from '../diagnostics/diagnostic.ts';
import { archiveKind, parseArtifactManifest } from '../manifest/artifact-manifest.ts';
import { loadCapsuleManifest } from '../manifest/load.ts';
import type { Environment } from '../manifest/references.ts';
import { writeArchive, type WrittenArchive } from './archive-writer.ts';
import type { ArtifactRef } from './artifact-ref.ts';
import { DirectoryContent, readArtifactDirectory, readCapsuleDirectory } from './directory-content.ts';
import { type ArtifactKind, inspectContent, manifestFile, readManifestText } from './inspect-content.ts';

export interface BuildRequest {
  /** The folder of an artifact or a capsule. */
  readonly directory: string;
  /** Where the archive goes, named `<name>-<version>.zip`. */
  readonly outDirectory: string;
  /** What references in the manifest of a capsule are checked with; they are packed as they are written. */
  readonly env: Environment;
}

export interface BuiltArchive extends WrittenArchive {
  readonly ref: ArtifactRef;
  readonly kind: ArtifactKind;
  readonly warnings: readonly Diagnostic[];
}

/** Checks and packs a folder (`svc build`). Throws what is wrong with it; the archive is then not written. */
export async function buildArchive({ directory, outDirectory, env }: BuildRequest): Promise<BuiltArchive> {
  const { content, warnings } = await readFolder(directory, env);
  const { ref, kind } = await inspectContent(content);
  const path = join(outDirectory, `${ref.name}-${ref.version}.zip`);
  return { ...(await writeArchive(path, content.files)), ref, kind, warnings };
}

interface Folder {
  readonly content: DirectoryContent;
  readonly warnings: readonly Diagnostic[];
}

async function readFolder(directory: string, env: Environment): Promise<Folder> {
  const probe = new DirectoryContent(directory);
  await probe.include(manifestFile);
  const text = await readManifestText(probe);
  const file = join(directory, manifestFile);
  if (archiveKind(text, file) === 'artifact') {
    const { warnings } = parseArtifactManifest(text, file);
    return { content: await readArtifactDirectory(directory), warnings };
  }
  const { manifest, warnings } = loadCapsuleManifest({ file, text, env, purpose: 'inspect' });
  return { content: await readCapsuleDirectory(directory, manifest), warnings };
}
