import { chmod, open, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';

import { makeDirectory } from '@svc/kit/files/durable-file.ts';
import type { InstalledArtifact } from './installed-artifact.ts';
import { ioFault } from '@svc/kit/files/io-fault.ts';
import { temporaryName } from '@svc/kit/files/temporary-name.ts';

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
  const directory = dirname(path);
  await makeDirectory(directory);
  const temporary = join(directory, temporaryName());
  try {
    const staged = await open(temporary, 'wx', 0o755);
    try {
      await staged.writeFile(program);
    } finally {
      await staged.close();
    }
    // The mode asked for above is narrowed by the umask of whoever runs svc.
    await chmod(temporary, 0o755);
    await rename(temporary, path);
    return path;
  } catch (error) {
    throw ioFault(error, `cannot write ${path}`);
  } finally {
    await rm(temporary, { force: true });
  }
}
