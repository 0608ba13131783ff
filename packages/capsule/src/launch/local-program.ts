/** Finds the program of a bare name among those that a project has installed for itself. */

import { accessSync, constants, realpathSync } from 'node:fs';
import { join, sep } from 'node:path';

import { isBeneath } from '@svc/kit/files/resolve-beneath.ts';
import { unlessRefused } from '@svc/kit/files/unless-refused.ts';
import { type OperatorPlaces, readsOf, realOf } from './operator-files.ts';

/** Where npm, and a virtual environment of Python, keep programs. */
const binDirectories = ['node_modules/.bin', '.venv/bin'];

interface LocalProgram {
  readonly path: string;
  /** What it may read of the host beside what every program of its kind reads. */
  readonly reads: readonly string[];
}

/**
 * Looks beside the artifact's own files, then beside the manifest; null where no project has the program. What lies in the workdir is the
 * agent's. A link has to lead into the project or to an installed package; the interpreter of a virtual environment is of the system.
 */
export function localProgram(name: string, places: OperatorPlaces): LocalProgram | null {
  const { artifactDirectory, manifestDirectory } = places;
  for (const base of artifactDirectory === undefined ? [manifestDirectory] : [artifactDirectory, manifestDirectory]) {
    for (const directory of binDirectories) {
      const path = join(base, directory, name);
      const real = unlessRefused(() => executable(path), null);
      if (real === null || !isOwn(path, real, base, places.workdir)) continue;
      const isVirtual = directory.startsWith('.venv');
      return { path, reads: isVirtual ? [join(base, '.venv'), ...readsOf(path, places)] : readsOf(path, places) };
    }
  }
  return null;
}

/** With links resolved. Throws the error of the system for a file that is missing or may not be run. */
function executable(path: string): string {
  accessSync(path, constants.X_OK);
  return realpathSync(path);
}

function isOwn(path: string, real: string, base: string, workdir: string): boolean {
  if ([realOf(path), path, real].some((each) => isBeneath(realOf(workdir), each))) return false;
  if (isBeneath(realOf(base), real) || real.split(sep).includes('node_modules')) return true;
  return /\/\.venv\/bin\/python[\d.]*$/.test(path);
}
