import { existsSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { locate, type StorePlaces } from '@svc/artifacts/store/locate.ts';
import type { RunRequest } from './running-capsule.ts';

/** Where a capsule comes from. */
export interface CapsuleSource {
  /** The manifest, as diagnostics name it. */
  readonly manifestFile: string;
  /** Absolute: the manifest's own, with everything the manifest names beside itself. */
  readonly manifestDirectory: string;
  /** Absolute: the workspace root, with `.env`, `.svc/` and `workdir/`. The manifest's directory, unless the capsule is published. */
  readonly root: string;
}

/**
 * The manifest file that was named, or the published capsule, unpacked once by content below `.svc/capsules/` of the working
 * directory (docs/cli.md "svc run"). `E-REG-001` when no store has it.
 */
export async function findCapsule(
  request: Pick<RunRequest, 'cwd' | 'manifestFile' | 'published'>,
  places: StorePlaces,
): Promise<CapsuleSource> {
  const { cwd, manifestFile, published } = request;
  if (published === null) {
    const directory = dirname(resolve(cwd, manifestFile));
    return { manifestFile, manifestDirectory: directory, root: directory };
  }
  const { root, stored } = await locate(published, places);
  const { openStored } = await import('@svc/artifacts/store/open-stored.ts');
  const opened = await openStored(root, stored, places.platform);
  try {
    const name = `${published.name}-${published.version}-${opened.stored.sha256.slice(0, 16)}`;
    const directory = join(cwd, '.svc', 'capsules', name);
    if (!existsSync(directory)) await unpack(opened.archive, directory);
    return { manifestFile: join(directory, 'svc.yaml'), manifestDirectory: directory, root: cwd };
  } finally {
    await opened.archive.file.close();
  }
}

async function unpack(archive: { extractTo(target: string): Promise<void> }, directory: string): Promise<void> {
  try {
    await archive.extractTo(directory);
  } catch (error) {
    // Another run may have unpacked the same bytes meanwhile.
    if (!(error instanceof Diagnostic && existsSync(directory))) throw error;
  }
}
