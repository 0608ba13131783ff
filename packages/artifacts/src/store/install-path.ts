import { stat } from 'node:fs/promises';

import { packArchive } from './archive-writer.ts';
import { type FolderRequest, readFolder } from './build-archive.ts';
import type { Chunks } from '@svc/kit/files/replace-file.ts';
import { type InstalledRef, type InstallRequest, prepareStored, record, targetRoot } from './install.ts';
import { ioFault } from '@svc/kit/files/io-fault.ts';
import { chunksOfFile } from '@svc/kit/files/regular-file.ts';
import { putArchive } from './store-put.ts';

export interface PathInstall {
  /** Absolute; an archive, or the folder of an artifact or a capsule. */
  readonly path: string;
  readonly folder: Omit<FolderRequest, 'directory'>;
}

/** Installs what lies at a path, in place of another of the same name and version: what an operator names by path is meant. */
export async function installPath(install: PathInstall, request: InstallRequest): Promise<InstalledRef> {
  const root = targetRoot(request);
  const stored = await putArchive({
    root,
    chunks: await chunksAt(install, request),
    platform: null,
    from: install.path,
  });
  await prepareStored({ origin: request.fetching?.into ?? 'project', root, stored }, request);
  const { name, version, sha256 } = stored;
  const installed: InstalledRef = { name, version, platform: null, sha256, origin: 'source' };
  await record([installed], request);
  return installed;
}

async function chunksAt({ path, folder }: PathInstall, { onWarning }: InstallRequest): Promise<Chunks> {
  if (!(await isDirectory(path))) return chunksOfFile(path);
  const { content, warnings } = await readFolder({ ...folder, directory: path });
  for (const warning of warnings) onWarning(warning);
  return packArchive(content.files);
}

/** `E-IO-001` when there is nothing at the path. */
export async function isDirectory(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isDirectory();
  } catch (error) {
    throw ioFault(error, `cannot read ${path}`);
  }
}
