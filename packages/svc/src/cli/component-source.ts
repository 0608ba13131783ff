// Builds component.wasm of a folder that holds its source, or compares the two.
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

import { sha256Hex } from '@svc/kit/sha256.ts';
import { buildComponent, type BuiltComponent } from '@svc/components/builder/build-component.ts';
import { Diagnostic, DiagnosticList } from '@svc/kit/diagnostics/diagnostic.ts';
import { archiveKind, parseArtifactManifest } from '@svc/artifacts/manifest/artifact-manifest.ts';
import { DirectoryContent } from '@svc/artifacts/store/directory-content.ts';
import {
  componentFile,
  componentSource,
  manifestFile,
  readManifestText,
  requiredFile,
} from '@svc/artifacts/store/inspect-content.ts';
import { findPackageRoot } from '@svc/kit/files/package-root.ts';
import { replaceFile } from '@svc/kit/files/replace-file.ts';
import { checkArtifact } from './check-artifact.ts';

/**
 * Makes `component.wasm` of the folder of a tool, driver or hook anew where the folder holds `component.ts`; does nothing elsewhere. What is
 * wrong with the manifest or the source is thrown, and the file is then as it was. Answers what is to be said of it (`W-ART-002`).
 */
export async function buildFromSource(directory: string): Promise<readonly Diagnostic[]> {
  const built = await builtComponent(directory);
  if (built === null) return [];
  await replaceFile(join(directory, componentFile), [built.component], { mode: 0o666, isDurable: false });
  return built.warnings;
}

/**
 * Builds the component of the folder again and compares it with `component.wasm`; writes nothing. `E-ART-013` when they differ, or when
 * the folder lacks one of the two files.
 */
export async function checkAgainstSource(directory: string): Promise<readonly Diagnostic[]> {
  const path = join(directory, componentFile);
  const built = await builtComponent(directory);
  if (built === null)
    throw new Diagnostic('E-ART-013', `${directory} has no component that is built from ${componentSource}`);
  if (!existsSync(path)) throw new Diagnostic('E-ART-013', `${path} is not there`);
  const [wanted, found] = [sha256Hex(built.component), sha256Hex(await readFile(path))];
  if (wanted === found) return built.warnings;
  const differs = new Diagnostic('E-ART-013', `${path} has the hash ${found}, and ${componentSource} builds ${wanted}`);
  throw new DiagnosticList([differs, ...built.warnings]);
}

/** Null where there is nothing to build: the folder of a capsule or a skill, or one without the source. */
async function builtComponent(directory: string): Promise<BuiltComponent | null> {
  if (!existsSync(join(directory, componentSource))) return null;
  const content = new DirectoryContent(directory);
  await content.include(manifestFile);
  const text = await readManifestText(content);
  const file = join(directory, manifestFile);
  if (archiveKind(text, file) === 'capsule') return null;
  const { manifest } = parseArtifactManifest(text, file);
  if (manifest.runtime === 'skill' || requiredFile(manifest) !== componentFile) return null;
  await checkArtifact(manifest);
  const packageRoot = findPackageRoot(import.meta.filename);
  return await buildComponent({ directory, world: manifest.runtime, packageRoot });
}
