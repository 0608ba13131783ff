import { dirname } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { type Archive, readArchive } from './archive.ts';
import { type ArtifactRef, spell } from './artifact-ref.ts';
import { RegularFile } from '@svc/kit/files/regular-file.ts';
import { findStored, type StoredArchive } from './store-layout.ts';

export interface OpenedArchive {
  readonly stored: StoredArchive;
  /** Its bytes have the recorded hash; the caller closes its file. */
  readonly archive: Archive;
}

const maxAttempts = 50;
const pauseMs = 10;

/**
 * Opens the variant for the platform, else the generic file, and checks its hash. `E-ART-006` when it is damaged, `E-IO-001`
 * when it is no longer there.
 */
export async function openStored(root: string, ref: ArtifactRef, platform: string): Promise<OpenedArchive> {
  for (let attempt = 0; attempt < maxAttempts; attempt += 1) {
    const stored = findStored(root, ref, platform);
    const file = stored === null ? null : await RegularFile.openIfThere(stored.path);
    if (stored === null || file === null) {
      await pause(pauseMs);
      continue;
    }
    if ((await file.sha256()) === stored.sha256) return { stored, archive: await readOrClose(file) };
    await file.close();
    // A writer takes the record away before it replaces the archive: the same record again means damage, not a replacement.
    if (findStored(root, ref, platform)?.sha256 === stored.sha256) throw damaged(stored);
  }
  throw new Diagnostic('E-IO-001', `cannot read ${spell(ref)} in ${root}: another process replaces or removes it`, {
    hint: 'run the command again',
  });
}

async function readOrClose(file: RegularFile): Promise<Archive> {
  try {
    return await readArchive(file);
  } catch (error) {
    await file.close();
    throw error;
  }
}

function damaged(stored: StoredArchive): Diagnostic {
  return new Diagnostic('E-ART-006', `${stored.path} does not have the hash that was recorded with it`, {
    hint: `remove ${dirname(stored.path)} and install ${spell(stored)} again`,
  });
}
