/** The folders that one command of the library has to itself, gone once it has ended. */

import { mkdirSync, mkdtempSync } from 'node:fs';
import { join } from 'node:path';

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { isSystemError, systemReason } from '@svc/kit/diagnostics/system-reason.ts';
import { removeTree } from '@svc/kit/files/remove-tree.ts';
import { isBeneath } from '@svc/kit/files/resolve-beneath.ts';
import { containedTemporary } from '../contained-environment.ts';

export interface SandboxPlace {
  /** The empty folder in which the command has its home. */
  readonly workdir: string;
  /** Out of the command's reach. */
  readonly privateDirectory: string;
  /** Removes both, as far as the command left them removable. */
  remove(): Promise<void>;
}

/** Makes them in the temporary directory. Throws `E-CAP-019` where the command could write to what is kept from it there. */
export function makePlace(temporaryDirectory: string, writes: readonly string[]): SandboxPlace {
  const open = writes.find((path) => isBeneath(path, temporaryDirectory));
  if (open !== undefined) {
    throw new Diagnostic(
      'E-CAP-019',
      `${open} was granted for writing, and holds the temporary files that contain the command`,
      { hint: `grant a directory inside it, or set TMPDIR to a directory elsewhere` },
    );
  }
  const folder = makeFolder(temporaryDirectory);
  const place = { workdir: join(folder, 'work'), privateDirectory: join(folder, 'private') };
  mkdirSync(containedTemporary(place.workdir), { recursive: true });
  mkdirSync(place.privateDirectory, { mode: 0o700 });
  return { ...place, remove: async () => void (await removeTree(folder)) };
}

function makeFolder(temporaryDirectory: string): string {
  try {
    return mkdtempSync(join(temporaryDirectory, 'svc-sandbox-'));
  } catch (error) {
    if (!isSystemError(error)) throw error;
    throw new Diagnostic(
      'E-CAP-019',
      `a temporary folder was to be made in ${temporaryDirectory}, and ${systemReason(error)}`,
      { hint: 'set TMPDIR to a directory that can be written', cause: error },
    );
  }
}
