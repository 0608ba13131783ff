/** Finds the files that an operator names in the command of a driver or a tool. */

import { existsSync, realpathSync, statSync } from 'node:fs';
import { basename, dirname, isAbsolute, join, resolve, sep } from 'node:path';

import { isBeneath } from '@svc/kit/files/resolve-beneath.ts';
import { unlessRefused } from '@svc/kit/files/unless-refused.ts';

export interface OperatorPlaces {
  /** What a relative path of the manifest is relative to. */
  readonly manifestDirectory: string;
  /**
   * The directory that is the `source:` of an artifact, for its command: its words are relative to it and name files in it alone. The operator has
   * named the directory, and somebody else may have written the command.
   */
  readonly artifactDirectory?: string;
  readonly home: string;
  /** The accessible workdir, links resolved: what is in it is the agent's. */
  readonly workdir: string;
}

export interface OperatorCommand {
  /** The command, its files by absolute paths: it starts in the workdir. */
  readonly words: readonly string[];
  /** What it may read of the host because the operator named it: files and directories. */
  readonly reads: readonly string[];
}

/**
 * The files that an operator names in a command of the manifest. A word is one when it names a regular file from the manifest's directory, and
 * holds a slash or, after the first, a dot. Such a file can be read, and the package it belongs to: the directory of the nearest `package.json`
 * or `pyproject.toml` with the `node_modules` around it, and of a Python file without one its own directory. Of a package that holds the workspace,
 * the home, or an `.env` or `.svc` of any kind, only what `partsOfPackage` lists. Never those themselves, nor anything of the workdir, nor what a link beside the manifest opens elsewhere: a manifest comes
 * with its folder, and who reads it does not see where the links in there lead.
 */
export function operatorFiles(words: readonly string[], places: OperatorPlaces): OperatorCommand {
  const reads = new Set<string>();
  const absolute = words.map((word, index) => {
    const file = fileNamed(word, index === 0, places);
    if (file === null) return word;
    for (const path of readsOf(file, places)) reads.add(path);
    // How the program is called is the launch's to resolve, and its name in messages.
    return index === 0 ? word : file;
  });
  return { words: absolute, reads: [...reads] };
}

/**
 * Names files in a program's last words that exist, beside the manifest or a file of the command, and that the program cannot read. Returns null
 * when the words name no such file.
 */
export function hiddenIn(said: string, reads: readonly string[], places: OperatorPlaces): string | null {
  const { workdir } = places;
  const told = [...said.matchAll(/\/[^\s'":,)]+/g)].map(([path]) => resolve(path));
  const near = [baseOf(places), ...reads.map((path) => dirname(path))];
  const open = [...reads, workdir];
  const hidden = [...new Set(told)].filter(
    (path) =>
      near.some((place) => isBeneath(place, path)) && !open.some((place) => isBeneath(place, path)) && isFile(path),
  );
  if (hidden.length === 0) return null;
  const verb = hidden.length === 1 ? 'is' : 'are';
  return `${hidden.slice(0, 3).join(', ')} ${verb} hidden from it: it can read the files that its command names, and the package of each`;
}

/** Where the command stands. */
function baseOf({ manifestDirectory, artifactDirectory }: OperatorPlaces): string {
  return artifactDirectory ?? manifestDirectory;
}

function fileNamed(word: string, isProgram: boolean, places: OperatorPlaces): string | null {
  const mayBePath = word.includes('/') || (!isProgram && /^[^-].*\.\w+$/.test(word));
  if (!mayBePath || word.includes('\0')) return null;
  const path = isAbsolute(word) ? word : resolve(baseOf(places), word);
  if (places.artifactDirectory !== undefined && !isBeneath(places.artifactDirectory, path)) return null;
  return isFile(path) ? path : null;
}

/** What of the host goes with a file that was named. */
export function readsOf(file: string, places: OperatorPlaces): readonly string[] {
  const real = realpathSync(file);
  if (isSecret(real, places) || [file, real].some((path) => isBeneath(realOf(places.workdir), path))) return [];
  if (leadsAway(file, real, places)) return [];
  return [file, ...packageOf(real, places)];
}

const marks = ['package.json', 'pyproject.toml'];
const partsOfPackage = [...marks, 'node_modules', '.venv', 'src'];

function packageOf(file: string, places: OperatorPlaces): readonly string[] {
  const root = packageRoot(dirname(file), places) ?? (file.endsWith('.py') ? dirname(file) : null);
  if (root === null) return [];
  const around = root.split(sep).indexOf('node_modules');
  const shared =
    around === -1
      ? []
      : [
          root
            .split(sep)
            .slice(0, around + 1)
            .join(sep),
        ];
  const own = holdsSecrets(root, places) ? partsOfPackage.map((name) => join(root, name)) : [root];
  return [...own, ...shared].filter(
    (path) => existsSync(path) && isItself(path) && !isSecret(realpathSync(path), places),
  );
}

/** Packages that are installed elsewhere may be linked to, as their managers do. */
function leadsAway(file: string, real: string, places: OperatorPlaces): boolean {
  const base = baseOf(places);
  const own = realOf(base);
  if (!isBeneath(base, file) && !isBeneath(own, file)) return false;
  return !isBeneath(own, real) && !real.split(sep).includes('node_modules');
}

/** A part of a package may be a link to another one, and to nothing else. */
function isItself(path: string): boolean {
  const real = realpathSync(path);
  return real === path || basename(real) === basename(path);
}

/** Neither the root of all nor the user's home is a package, whatever lies there. */
function packageRoot(directory: string, places: OperatorPlaces): string | null {
  if (isBeneath(directory, realOf(places.home))) return null;
  if (marks.some((name) => isFile(join(directory, name)))) return directory;
  const above = dirname(directory);
  return above === directory ? null : packageRoot(above, places);
}

function holdsSecrets(root: string, { manifestDirectory, artifactDirectory, home, workdir }: OperatorPlaces): boolean {
  // A package around the directory that was named is more than was named.
  if (artifactDirectory !== undefined && !isBeneath(realOf(artifactDirectory), root)) return true;
  if ([manifestDirectory, home, workdir].some((path) => isBeneath(root, realOf(path)))) return true;
  return ['.env', '.svc', '.git', '.npmrc', '.ssh'].some((name) => existsSync(join(root, name)));
}

/** A file with keys of the workspace or of the user, wherever a link to it stands. */
function isSecret(path: string, { manifestDirectory, home }: OperatorPlaces): boolean {
  if (path.split(sep).some((name) => name === '.svc' || name === '.ssh' || name === '.env' || name.startsWith('.env.')))
    return true;
  return [manifestDirectory, home].some((place) => realOf(place) === path);
}

/** With links resolved, where there is something. */
export function realOf(path: string): string {
  return existsSync(path) ? realpathSync(path) : path;
}

function isFile(path: string): boolean {
  return unlessRefused(() => statSync(path).isFile(), false);
}
