/** Finds out whether a program failed because a path of this machine is hidden from it, and which grant opens that. */

import { statSync } from 'node:fs';
import { basename, delimiter, dirname, isAbsolute, join, resolve } from 'node:path';

import { isBeneath, realPath } from '@svc/kit/files/resolve-beneath.ts';
import { unlessRefused } from '@svc/kit/files/unless-refused.ts';
import { FileCollection, systemFiles } from '@svc/sandbox/closure/file-collection.ts';
import { findProgram } from '@svc/sandbox/find-program.ts';
import type { HiddenIn } from '@svc/sandbox/launcher.ts';
import { closedPlace, type HostSurroundings } from '../launch/host-reads.ts';
import type { StageParts } from './stage-parts.ts';

/** A program that failed. */
export interface FailedProgram {
  /** Its last words. */
  readonly said: string;
  /** Whether it cannot read what is at a path of this machine. */
  readonly hides: (path: string) => boolean;
}

interface HiddenSurroundings extends HostSurroundings {
  /** Where programs of the capsule are looked for. */
  readonly searchPath: string;
  /** The names of those that it is granted. */
  readonly commands: readonly string[];
  /** Where it started: relative names are taken from there. */
  readonly folders: readonly string[];
  /** Whether flags grant, as for a task without a manifest. */
  readonly hasFlags: boolean;
}

export function hiddenSurroundings(
  { launch, processes, directories }: StageParts,
  { PATH: searchPath = '' }: Readonly<Record<string, string>>,
): HiddenSurroundings {
  const { path: folder, is_workdir: isWorkdir = false } = launch.scope.project_folder ?? {};
  const given = [directories.workdir, ...(folder === undefined || isWorkdir ? [] : [folder])];
  return {
    home: processes.home,
    own: [launch.source.root, launch.source.state, launch.loaded.directory],
    given,
    env: launch.env,
    searchPath,
    commands: launch.grants.shellAllow,
    folders: given.map((each) => join(each, each === folder ? '.' : (launch.grants.filesystemScope ?? '.'))),
    hasFlags: folder !== undefined && !isWorkdir,
  };
}

/** Says of a program's last words what `before` says of them, or else which grant would open what they name. */
export function hiddenBeyond(
  parts: StageParts,
  env: Readonly<Record<string, string>>,
  before: (said: string) => string | null,
): HiddenIn {
  return (said, hides) => {
    const first = before(said);
    if (first !== null || hides === undefined) return first;
    const told = hiddenPaths({ said, hides }, hiddenSurroundings(parts, env));
    return told.length === 0 ? null : told.join('\n');
  };
}

const maxSaid = 16 * 1024;
const maxNames = 64;
const maxTold = 3;

/**
 * A line for each path that the words of a failed program name, that is there and hidden from it, and that a grant could open; three at most. They name only
 * what lies among the programs of this machine.
 */
export function hiddenPaths({ said, hides }: FailedProgram, surroundings: HiddenSurroundings): readonly string[] {
  const words = said.slice(-maxSaid);
  const homes = homesOf(surroundings);
  const named = [...pathsIn(words), ...interpretersIn(words, surroundings), ...librariesIn(words, homes)];
  const told = new Map<string, string>();
  for (const path of [...new Set(named)].slice(0, maxNames)) {
    if (told.size === maxTold || !mayBeTold(path, homes, surroundings)) continue;
    if (!isThere(path) || !hides(path)) continue;
    const grant = grantFor(path, homes, surroundings);
    if (grant !== null && !told.has(grant)) told.set(grant, path);
  }
  return [...told].map(([grant, path]) => `${path} is on this machine, and hidden from programs here: ${grant}`);
}

function pathsIn(words: string): readonly string[] {
  const found = words.matchAll(/(?<![\w.~-])\/[^\s'"`:;,()<>[\]{}|\u2018\u2019]{1,1024}/g);
  return [...found].map(([path]) => resolve(path.replace(/[.!?]+$/, '')));
}

/** Shells name a script where its interpreter is what they do not find. */
function interpretersIn(words: string, { folders }: HiddenSurroundings): readonly string[] {
  if (!/not found|no such file|bad interpreter|permission denied|ENOENT|EACCES/i.test(words)) return [];
  const files = new FileCollection(systemFiles);
  const names = [...words.matchAll(/[^\s'"`:;,()<>]{1,1024}/g)]
    .map(([name]) => name)
    .filter((name) => name.includes('/'));
  return [...new Set(names)].slice(0, maxNames).flatMap((name) => {
    const walks = folders.map((folder) => files.find(resolve(folder, name)));
    const own = walks.find((walk) => walk?.kind === 'file' && folders.some((folder) => isBeneath(folder, walk.path)));
    const format = own == null ? null : files.format(own);
    return format?.kind === 'script' || format?.kind === 'elf' ? [format.interpreter ?? []].flat() : [];
  });
}

/** Libraries that are named without a folder, where the loader or a granted program would have them. */
function librariesIn(words: string, homes: readonly string[]): readonly string[] {
  const names = [...words.matchAll(/(?<![\w/.-])lib[\w+.-]{1,200}?\.so(?:\.\d+)*(?![\w])/g)].map(([name]) => name);
  if (names.length === 0) return [];
  const cache = new FileCollection(systemFiles).loaderCache();
  const found: string[] = [];
  for (const name of [...new Set(names)].slice(0, maxNames)) {
    for (const home of homes) found.push(join(home, 'lib', name), join(home, 'lib64', name));
    for (const libraries of cache.values()) for (const { path } of libraries.get(name) ?? []) found.push(path);
  }
  return found;
}

/** What stands around programs that it is granted or could be, such as the home of a toolchain. */
function homesOf({ commands, searchPath, ...surroundings }: HiddenSurroundings): readonly string[] {
  const granted = commands.flatMap((name) => {
    const found = findProgram(name, searchPath);
    return found.kind === 'found' ? [dirname(realPath(found.path))] : [];
  });
  const folders = [...granted, ...searchPath.split(delimiter).filter(isAbsolute)];
  const homes = folders.flatMap((folder) => (['bin', 'sbin'].includes(basename(folder)) ? [dirname(folder)] : []));
  // Not `/`, `/srv` or what people share with other things, such as `~` and `~/.local`.
  return [...new Set(homes)].filter(
    (home) => /^\/.+\/./.test(home) && !home.endsWith('/.local') && closedPlace(home, surroundings) === null,
  );
}

const amongPrograms = ['/opt', '/usr', '/nix', '/snap', '/bin', '/sbin', '/lib', '/lib64'];

/** A program must not learn what else is on this machine. */
function mayBeTold(path: string, homes: readonly string[], surroundings: HiddenSurroundings): boolean {
  return (
    [...amongPrograms, ...homes].some((place) => isBeneath(place, path)) && closedPlace(path, surroundings) === null
  );
}

/** As it is to be written; null where nothing may open it. */
function grantFor(path: string, homes: readonly string[], surroundings: HiddenSurroundings): string | null {
  const { searchPath, hasFlags } = surroundings;
  const isCommand = searchPath.split(delimiter).filter(isAbsolute).includes(dirname(path));
  if (isCommand && findProgram(path, '').kind === 'found') {
    const key = hasFlags ? `--allow ${basename(path)}` : `capabilities.shell.allow: [${basename(path)}]`;
    return `${key} lets them run it`;
  }
  const place = [homeAround(path, homes), besideIt(path)].find(
    (each) => each !== null && closedPlace(each, surroundings) === null,
  );
  if (place == null) return null;
  const key = hasFlags ? `--host-read ${place}` : `capabilities.filesystem.host_read: [${place}]`;
  return `${key} lets them read it`;
}

/** Many programs have theirs there. */
const sharedHomes: ReadonlySet<string> = new Set(['/usr', '/usr/local']);

/** The folder of the one program that it belongs to. */
function homeAround(path: string, homes: readonly string[]): string | null {
  const real = realPath(path);
  const home = homes.find((each) => !sharedHomes.has(each) && isBeneath(each, real));
  return home ?? /^\/opt\/[^/]+(?=\/)/.exec(real)?.[0] ?? null;
}

/** Itself; what a link leads to has another name, so that the folder of a link is opened. */
function besideIt(path: string): string {
  const real = realPath(path);
  return basename(real) === basename(path) ? real : realPath(dirname(path));
}

function isThere(path: string): boolean {
  return unlessRefused(() => statSync(path, { throwIfNoEntry: false }) !== undefined, false);
}
