import { existsSync } from 'node:fs';
import { rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';

import { buildComponent } from '../components/builder/build-component.ts';
import { archiveKind, parseArtifactManifest } from '../manifest/artifact-manifest.ts';
import { DirectoryContent } from '../store/directory-content.ts';
import {
  componentFile,
  componentSource,
  manifestFile,
  readManifestText,
  requiredFile,
} from '../store/inspect-content.ts';
import { ioFault } from '../store/io-fault.ts';
import { findPackageRoot } from '../store/package-root.ts';
import { temporaryName } from '../store/temporary-name.ts';
import { checkArtifact } from './check-artifact.ts';

/**
 * Makes `component.wasm` of the folder of a tool, driver or hook anew where the folder holds `component.ts`; does nothing elsewhere. What is
 * wrong with the manifest or the source is thrown, and the file is then as it was.
 */
export async function buildFromSource(directory: string): Promise<void> {
  if (!existsSync(join(directory, componentSource))) return;
  const content = new DirectoryContent(directory);
  await content.include(manifestFile);
  const text = await readManifestText(content);
  const file = join(directory, manifestFile);
  if (archiveKind(text, file) === 'capsule') return;
  const { manifest } = parseArtifactManifest(text, file);
  if (manifest.runtime === 'skill' || requiredFile(manifest) !== componentFile) return;
  await checkArtifact(manifest);
  const packageRoot = findPackageRoot(import.meta.filename);
  const component = await buildComponent({ directory, world: manifest.runtime, packageRoot });
  await replaceOutput(join(directory, componentFile), component);
}

async function replaceOutput(path: string, bytes: Uint8Array): Promise<void> {
  const temporary = join(dirname(path), temporaryName());
  try {
    await writeFile(temporary, bytes);
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true });
    throw ioFault(error, `cannot write ${path}`);
  }
}
