import { chmod, open, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';

import { makeDirectory } from './durable-file.ts';
import type { InstalledArtifact } from './installed-artifact.ts';
import { ioFault } from './io-fault.ts';
import { temporaryName } from './temporary-name.ts';

/**
 * Puts the program of a native artifact into `directory`, under the artifact's name and executable by all; returns its path.
 * What was there under that name is replaced, not written into, so that a program that runs stays as it is.
 */
export async function stageNative(artifact: InstalledArtifact, directory: string): Promise<string> {
  const { name } = artifact.manifest;
  const program = await artifact.read(`bin/${name}`);
  await makeDirectory(directory);
  const path = join(directory, name);
  const temporary = join(directory, temporaryName());
  try {
    const file = await open(temporary, 'wx', 0o755);
    try {
      await file.writeFile(program);
    } finally {
      await file.close();
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
