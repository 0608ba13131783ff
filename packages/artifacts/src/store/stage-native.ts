import { fchmodSync } from 'node:fs';
import { dirname, join } from 'node:path';

import { makeDirectory } from '@svc/kit/files/make-directories.ts';
import type { InstalledArtifact } from './installed-artifact.ts';
import { ioFault } from '@svc/kit/files/io-fault.ts';
import { writeTemporary } from '@svc/kit/files/replace-file.ts';

/** Puts the program of a native artifact into `directory`, under the artifact's name and executable by all; returns its path. */
export async function stageNative(artifact: InstalledArtifact, directory: string): Promise<string> {
  const { name } = artifact.manifest;
  return await stageProgram(artifact, `bin/${name}`, join(directory, name));
}

/**
 * Puts one file of an artifact at `path`, executable by all; returns the path. What was there is replaced, not written into, so that a
 * program that runs stays as it is.
 */
export async function stageProgram(artifact: InstalledArtifact, file: string, path: string): Promise<string> {
  const program = await artifact.read(file);
  await makeDirectory(dirname(path));
  const staged = await writeTemporary(dirname(path), [program], { isDurable: false });
  try {
    // A mode asked for at the beginning would be narrowed by the umask of whoever runs svc.
    fchmodSync(staged.fd, 0o755);
    staged.keepAs(path);
    return path;
  } catch (error) {
    throw ioFault(error, `cannot write ${path}`);
  } finally {
    staged.close();
  }
}
