/** Finds the program of a bare name among those that a project, or its user, has installed. */

import { accessSync, constants, readdirSync, realpathSync } from 'node:fs';
import { dirname, join, sep } from 'node:path';

import { readSmallText } from '@svc/kit/files/read-text.ts';
import { isBeneath } from '@svc/kit/files/resolve-beneath.ts';
import { unlessRefused } from '@svc/kit/files/unless-refused.ts';
import { findProgram } from '@svc/sandbox/find-program.ts';
import { type OperatorPlaces, readsOf, realOf } from './operator-files.ts';

/** Where npm, and a virtual environment of Python, keep programs. */
const binDirectories = ['node_modules/.bin', '.venv/bin'];

interface LocalProgram {
  readonly path: string;
  /** What it may read of the host beside what every program of its kind reads. */
  readonly reads: readonly string[];
  /** Variables by which it finds its packages; none when absent. */
  readonly env?: Readonly<Record<string, string>>;
}

/**
 * Looks beside the artifact's own files, then beside the manifest; null where no project has the program. What lies in the workdir is the
 * agent's. A link has to lead into the project or to an installed package; the interpreter of a virtual environment is of the system.
 */
export function localProgram(name: string, places: OperatorPlaces): LocalProgram | null {
  const { artifactDirectory, manifestDirectory } = places;
  for (const base of artifactDirectory === undefined ? [manifestDirectory] : [artifactDirectory, manifestDirectory]) {
    for (const directory of binDirectories) {
      const path = behindShim(join(base, directory, name));
      const real = unlessRefused(() => executable(path), null);
      if (real === null || !isOwn(path, real, base, places.workdir)) continue;
      const isVirtual = directory.startsWith('.venv');
      return { path, reads: isVirtual ? [join(base, '.venv'), ...readsOf(path, places)] : readsOf(path, places) };
    }
  }
  return null;
}

/**
 * A program on the search path that needs more than its own file: one that pnpm has made a shell script for, and one of `pip install --user`, which looks
 * for its packages in the home of its process. Returns null for every other program.
 */
export function userProgram(name: string, searchPath: string, places: OperatorPlaces): LocalProgram | null {
  const found = findProgram(name, searchPath);
  if (found.kind === 'refused') return null;
  const path = behindShim(found.path);
  if (path !== found.path) return { path, reads: readsOf(path, places) };
  const base = join(places.home, '.local');
  if (dirname(path) !== join(base, 'bin') || !/^#!\S*\bpython[\d.]*\s/.test(textOf(path))) return null;
  const versions = unlessRefused(() => readdirSync(join(base, 'lib')), []).filter((each) =>
    /^python3\.\d+$/.test(each),
  );
  const reads = versions.map((version) => join(base, 'lib', version, 'site-packages'));
  return { path, reads, env: { PYTHONUSERBASE: base } };
}

/** The file that a shell script of pnpm has Node run; the same path for anything else. */
function behindShim(path: string): string {
  const target = /^ *exec node +"\$basedir\/([^"$`\\]+)" "\$@"$/m.exec(textOf(path))?.[1];
  return target === undefined ? path : join(dirname(path), target);
}

function textOf(path: string): string {
  const reading = readSmallText(path);
  return reading.kind === 'text' ? reading.text : '';
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
