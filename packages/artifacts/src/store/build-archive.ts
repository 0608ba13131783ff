/** Packs a folder into the archive of an artifact or a capsule. */

import { join } from 'node:path';

import type { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import type { Environment } from '@svc/kit/environment.ts';
import { parseAnyManifest } from '../manifest/artifact-manifest.ts';
import { loadCapsuleManifest } from '../manifest/load.ts';
import type { ArtifactManifest } from '../manifest/schema.ts';
import type { KeyPath } from '../manifest/key-path.ts';
import { writeArchive, type WrittenArchive } from './archive-writer.ts';
import type { ArtifactRef } from './artifact-ref.ts';
import { DirectoryContent, readArtifactDirectory, readCapsuleDirectory, staleComponent } from './directory-content.ts';
import { type ArtifactContent, type ArtifactKind, inspectContent, readManifestText } from './inspect-content.ts';
import { notInArchive } from './discovered-skills.ts';
import { manifestFile } from './installed-artifact.ts';

export interface FolderRequest {
  /** The folder of an artifact or a capsule. */
  readonly directory: string;
  /** Used to check references in the manifest of a capsule; the archive has them as they are written. */
  readonly env: Environment;
  /** Checks the manifest and the files of an artifact before it is packed; the build throws what this throws. */
  readonly checkArtifact: (manifest: ArtifactManifest, content: ArtifactContent) => Promise<void>;
}

interface BuildRequest extends FolderRequest {
  /** Where the archive goes, named `<name>-<version>.zip`. */
  readonly outDirectory: string;
}

interface BuiltArchive extends WrittenArchive {
  readonly ref: ArtifactRef;
  readonly kind: ArtifactKind;
  readonly warnings: readonly Diagnostic[];
}

/** Checks and packs a folder (`svc build`). Throws what is wrong with it, and then writes no archive. */
export async function buildArchive(request: BuildRequest): Promise<BuiltArchive> {
  const { content, warnings } = await readFolder(request);
  const { ref, kind } = await inspectContent(content);
  const path = join(request.outDirectory, `${ref.name}-${ref.version}.zip`);
  return { ...(await writeArchive(path, content.files)), ref, kind, warnings };
}

/** Checks a folder and reads the files that belong into its archive. */
export async function readFolder({
  directory,
  env,
  checkArtifact,
}: FolderRequest): Promise<{ readonly content: DirectoryContent; readonly warnings: readonly Diagnostic[] }> {
  const probe = new DirectoryContent(directory);
  await probe.include(manifestFile);
  const text = await readManifestText(probe);
  const file = join(directory, manifestFile);
  const found = parseAnyManifest(text, file);
  if (found.kind === 'artifact') {
    const { manifest, warnings } = found;
    const content = await readArtifactDirectory(directory);
    await checkArtifact(manifest, content);
    const stale = await staleComponent(content);
    return { content, warnings: stale === null ? warnings : [...warnings, stale] };
  }
  const { manifest, warnings } = loadCapsuleManifest({ file, text, env, purpose: 'inspect', needs: decidesInstall });
  const left = manifest.skills === undefined ? warnings : [...warnings, notInArchive(file)];
  return { content: await readCapsuleDirectory(directory, manifest), warnings: left };
}

const ofEntry = new Set(['name', 'version', 'runtime', 'range', 'source', 'from']);
const ofInference = new Set(['transport', 'system_prompt_file', 'driver.artifact', 'driver.config.script']);

/** Whether an install or a package depends on the value at this path. */
export function decidesInstall([block, ...path]: KeyPath): boolean {
  switch (block) {
    case 'name':
    case 'version':
    case 'skills':
      return true;
    case 'artifacts':
      return path.length === 1 || (path.length === 2 && ofEntry.has(String(path[1])));
    case 'inference':
      return ofInference.has(path.join('.'));
    default:
      return false;
  }
}
