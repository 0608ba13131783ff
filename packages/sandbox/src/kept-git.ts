/** Finds the files of a project folder that git runs or obeys, so that an agent that may write in the folder cannot change them. */

import { lstatSync, mkdirSync, readdirSync, realpathSync, writeFileSync, type Stats } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { HeldDirectory } from '@svc/kit/files/held-directory.ts';
import { ioFault } from '@svc/kit/files/io-fault.ts';
import { readFileUpTo } from '@svc/kit/files/read-up-to.ts';
import { isBeneath } from '@svc/kit/files/resolve-beneath.ts';
import { unlessErrno } from '@svc/kit/files/unless-refused.ts';
import { namedByConfig, type NamedByGit } from './git-config.ts';
import { keptWays } from './own-places.ts';
import type { KeptPlace } from './launch/process-grants.ts';

/** What git runs or obeys in the directory of a repository: files, with what makes an absent one say nothing, and directories. */
const obeyedFiles: Readonly<Record<string, string>> = { config: '', 'config.worktree': '', commondir: '.\n' };
const obeyedDirectories = ['hooks', 'info', 'modules', 'branches', 'remotes'] as const;
/** The same of another working tree of it, below `worktrees`. `gitdir` says where that is. */
const obeyedOfWorktree: Readonly<Record<string, string>> = { 'config.worktree': '', commondir: '../..\n' };

/** What git writes there as it works: pseudo references such as `HEAD` and `MERGE_MSG`, the index, and so on, and the locks and drafts of these. */
const written =
  /^(?:[A-Z][A-Z0-9_]*|objects|refs|reftable|logs|index|packed-refs|shallow|worktrees|rebase-merge|rebase-apply|sequencer|rr-cache|lost-found|lfs|gc)(?:[._-][A-Za-z0-9._-]*)?$|^next-index-|^sharedindex[._]|^addp-hunk-edit\.|^fsmonitor--daemon|^\..*\.sw[a-p]$/;

const maxWorktrees = 64;
const maxNested = 128;
const maxOthers = 64;

/** Whether git makes an entry of this name in the directory of a repository, and obeys nothing in it. */
export function isWrittenByGit(name: string): boolean {
  return written.test(name);
}

/** Whether it is one that git obeys, which is there in each repository that was kept. */
export function isObeyedByGit(name: string): boolean {
  return Object.hasOwn(obeyedFiles, name) || obeyedDirectories.some((each) => each === name);
}

/** Whether git would take a folder for the directory of a repository. */
export function hasRepositoryNames(has: (name: string) => boolean): boolean {
  return ['HEAD', 'objects', 'refs'].every(has);
}

/** Whether git takes a folder below with such names in it for the directory of a repository, wherever its files are. What is in a `.git` is kept with that. */
export function isRepository(path: string, entries: readonly { readonly name: string }[]): boolean {
  return (
    hasRepositoryNames((name) => entries.some((entry) => entry.name === name)) &&
    path !== '' &&
    !/(?:^|\/)\.git(?:\/|$)/i.test(path)
  );
}

interface GitSurroundings {
  /** The `.git` in folders below. */
  readonly nested: readonly string[];
  /** What was kept when the session began; null then. */
  readonly first: readonly KeptPlace[] | null;
  /** Whether what is absent is made. A report changes nothing. */
  readonly makes: boolean;
}

/**
 * The repository of the folder at `path` as mounts keep it. `.git` stays where it is. A task can write what git writes as it works, and only read the
 * rest. Repositories in folders below are read only, and so is what the configuration names in the folder. What the task itself has made since the session
 * began can be written, except for what git obeys in any repository. `E-CAP-024` where it cannot be kept: by a host without mounts, where links lead out of it, and where
 * it is too much.
 */
export function keptGit(path: string, hasMounts: boolean, around: GitSurroundings): readonly KeptPlace[] {
  return new GitKeeper(path, hasMounts, around).places();
}

/** What was kept before, and whether what is absent is made. */
export type KeptQuestion = Omit<GitSurroundings, 'nested'>;

/** The same of the data of a repository that lies elsewhere than the folder whose working tree it is. */
export function keptGitData(data: string, folder: string, { first, makes }: KeptQuestion): readonly KeptPlace[] {
  return new GitKeeper(data, true, { nested: [], first, makes }).data(folder);
}

class GitKeeper {
  readonly #path: string;
  readonly #hasMounts: boolean;
  readonly #nested: readonly string[];
  readonly #first: ReadonlySet<string> | null;
  readonly #makes: boolean;
  /** The directory of the folder's own repository, where it is in the folder. */
  #own: string | null = null;

  constructor(path: string, hasMounts: boolean, { nested, first, makes }: GitSurroundings) {
    this.#makes = makes;
    this.#path = path;
    this.#hasMounts = hasMounts;
    this.#nested = nested;
    this.#first = first === null ? null : new Set(first.map((each) => each.path));
  }

  places(): readonly KeptPlace[] {
    return [...this.#repository(), ...this.#named(this.#path), ...this.#below()];
  }

  data(folder: string): readonly KeptPlace[] {
    return [...this.#directory(''), ...this.#named(folder)];
  }

  /** Whether the task did not make it. */
  #isFirst(place: string): boolean {
    return this.#first === null || this.#first.has(place);
  }

  #repository(): readonly KeptPlace[] {
    for (let folder = this.#path; folder !== dirname(folder); folder = dirname(folder)) {
      if (hasRepositoryNames((name) => lstatSync(join(folder, name), { throwIfNoEntry: false }) !== undefined))
        throw this.#unkept(`${folder} is the directory of a repository, which git obeys`);
    }
    const git = this.#stat('.git');
    if (git === undefined) return [];
    this.#needsMounts('.git');
    if (git.isFile()) return [{ path: '.git', writable: false }, ...this.#elsewhere()];
    if (!git.isDirectory()) throw this.#unkept('.git is a link');
    return this.#directory('.git');
  }

  /** For a `.git` that is a file and leads to another place in the folder. */
  #elsewhere(): readonly KeptPlace[] {
    const directory = directoryOfRepository(join(this.#path, '.git'));
    if (directory === null || directory === this.#path || !isBeneath(this.#path, directory)) return [];
    return this.#directory(relative(this.#path, directory));
  }

  /** The directory of a repository. */
  #directory(place: string): readonly KeptPlace[] {
    this.#own = place;
    this.#make(place, obeyedFiles, obeyedDirectories);
    const rest = readdirSync(join(this.#path, place)).filter(
      (name) => !isObeyedByGit(name) && !isWrittenByGit(name) && this.#isFirst(join(place, name)),
    );
    if (rest.length > maxOthers)
      throw this.#unkept(`${place} holds more than ${maxOthers} files that git does not make`);
    return [
      ...this.#waysTo(join(place, 'config')),
      ...Object.keys(obeyedFiles).map((name) => this.#right(join(place, name), 'file')),
      ...obeyedDirectories.map((name) => this.#right(join(place, name), 'directory')),
      ...rest.flatMap((name) => this.#ifThere(join(place, name))),
      ...this.#worktrees(join(place, 'worktrees')),
    ];
  }

  /** What belongs to the other working trees. Each obeys what stands here. */
  #worktrees(place: string): readonly KeptPlace[] {
    if (this.#stat(place)?.isDirectory() !== true || !this.#isFirst(place)) return [];
    const trees = readdirSync(join(this.#path, place))
      .map((name) => join(place, name))
      .filter((tree) => this.#isFirst(tree) && this.#stat(tree)?.isDirectory() === true);
    if (trees.length > maxWorktrees) throw this.#unkept(`${place} holds more than ${maxWorktrees} working trees`);
    return [{ path: place, writable: true }, ...trees.flatMap((tree) => this.#worktree(tree))];
  }

  #worktree(tree: string): readonly KeptPlace[] {
    this.#make(tree, obeyedOfWorktree, ['modules']);
    return [
      { path: tree, writable: true },
      ...Object.keys(obeyedOfWorktree).map((name) => this.#right(join(tree, name), 'file')),
      this.#right(join(tree, 'modules'), 'directory'),
      ...this.#ifThere(join(tree, 'gitdir')),
    ];
  }

  /** Repositories in folders below. Git looks into one that the index names as a submodule, and a git that runs there obeys it. */
  #below(): readonly KeptPlace[] {
    const nested = this.#nested.filter((place) => this.#isFirst(place) && place !== this.#own);
    if (nested.length > maxNested) throw this.#unkept(`there are more than ${maxNested} repositories in it`);
    return nested.flatMap((place) => {
      const kept = this.#ifThere(place);
      if (kept.length > 0) this.#needsMounts(place);
      return this.#waysTo(place).concat(kept);
    });
  }

  /** What the configuration of the repository names, which may be one around the folder. */
  #named(folder: string): readonly KeptPlace[] {
    return configurationsOf(folder).flatMap(({ file, top }) => {
      const named = namedByConfig(file, top);
      if (named === null) throw this.#unkept(`${file} is more than svc reads of a configuration of git`);
      return named.flatMap((each) => this.#namedPlace(each));
    });
  }

  #namedPlace(named: NamedByGit): readonly KeptPlace[] {
    const { path, as } = named;
    const real = unlessErrno(unreached, () => realpathSync(path), null);
    const inside = [path, real ?? path].find((each) => isBeneath(this.#path, each));
    if (inside === undefined) return [];
    const place = relative(this.#path, inside);
    if (as === 'directory' && place === '') throw this.#unkept(`${named.key} names the folder itself`);
    if (real === null) return this.#absent(named, place);
    const isLooked = as === 'directory' || as === 'file';
    if (!isLooked && !lstatSync(real).isFile()) return [];
    if (inside !== real && as === 'word') return [];
    if (inside !== real) throw this.#unkept(`${named.key} names ${place}, which is or lies behind a link`);
    this.#needsMounts(place);
    return [...this.#waysTo(place), { path: place, writable: false }];
  }

  /** Made where git looks into it; refused where the task could make what git then runs. */
  #absent(named: NamedByGit, place: string): readonly KeptPlace[] {
    const { key, path, as } = named;
    const holder = unlessErrno(unreached, () => realpathSync(dirname(path)), null);
    if (as === 'word' || (as === 'argument' && holder === null)) return [];
    if (as !== 'directory') throw this.#unkept(`${key} names ${place}, which is not there`);
    this.#needsMounts(place);
    if (!this.#makes) return [];
    this.#make(place, {}, []);
    if (realpathSync(path) !== path) throw this.#unkept(`${key} names ${place}, which is or lies behind a link`);
    return this.#namedPlace(named);
  }

  /** The directories on the way, which would otherwise be renamed with what is in them. */
  #waysTo(place: string): readonly KeptPlace[] {
    return keptWays(this.#path, join(this.#path, place));
  }

  #ifThere(place: string): readonly KeptPlace[] {
    const stat = this.#stat(place);
    return stat?.isFile() === true || stat?.isDirectory() === true ? [{ path: place, writable: false }] : [];
  }

  #right(place: string, kind: 'file' | 'directory'): KeptPlace {
    const stat = this.#stat(place);
    if (stat === undefined && !this.#makes) return { path: place, writable: false };
    if (kind === 'file' ? stat?.isFile() === true : stat?.isDirectory() === true)
      return { path: place, writable: false };
    throw this.#unkept(`${place} is ${stat?.isSymbolicLink() === true ? 'a link' : 'not what git makes of it'}`);
  }

  #stat(place: string): Stats | undefined {
    return lstatSync(join(this.#path, place), { throwIfNoEntry: false });
  }

  #needsMounts(place: string): void {
    if (!this.#hasMounts)
      throw this.#unkept(`${place} is only kept from a task that may write beside it in class sealed`);
  }

  /** What is absent of a directory is made, and that itself: nothing can be mounted where nothing is. Held, so that no link that comes to be there leads elsewhere. */
  #make(place: string, files: Readonly<Record<string, string>>, directories: readonly string[]): void {
    if (!this.#makes) return;
    const missing = (name: string): boolean => this.#stat(join(place, name)) === undefined;
    if (this.#stat(place) !== undefined && ![...Object.keys(files), ...directories].some(missing)) return;
    const folder = HeldDirectory.at(this.#path);
    try {
      const held = folder.below(place, 0o755);
      try {
        for (const name of directories) unlessThere(() => mkdirSync(held.entry(name)));
        for (const [name, text] of Object.entries(files))
          unlessThere(() => writeFileSync(held.entry(name), text, { flag: 'wx', mode: 0o644 }));
      } finally {
        held.close();
      }
    } catch (error) {
      throw ioFault(error, `${join(this.#path, place)} cannot be kept as it is`);
    } finally {
      folder.close();
    }
  }

  #unkept(problem: string): Diagnostic {
    return new Diagnostic('E-CAP-024', `what git runs cannot be kept from this task: in ${this.#path}, ${problem}`, {
      hint: '--write-git lets the task change that too: look at .git/hooks and .git/config before your next git command; svc doctor says what the class depends on',
    });
  }
}

const unreached = ['ENOENT', 'ENOTDIR', 'EACCES', 'ELOOP', 'ENAMETOOLONG'] as const;

function unlessThere(make: () => void): void {
  unlessErrno(['EEXIST'], make, undefined);
}

/** The configurations of the repository whose working tree the folder is or lies in, and the top of that. */
function configurationsOf(path: string): readonly { readonly file: string; readonly top: string }[] {
  for (let top = path; ; top = dirname(top)) {
    const directory = directoryOfRepository(join(top, '.git'));
    if (directory !== null) {
      const common = resolve(directory, smallText(join(directory, 'commondir'))?.trim() || '.');
      return [join(common, 'config'), join(directory, 'config.worktree')].map((file) => ({ file, top }));
    }
    if (top === dirname(top)) return [];
  }
}

/** The directory that `.git` is or, as in a worktree, names; null where there is no repository. */
function directoryOfRepository(git: string): string | null {
  const named = /^gitdir: ([^\n]+)/.exec(smallText(git) ?? '')?.[1];
  const directory = named === undefined ? git : resolve(dirname(git), named);
  return unlessErrno(unreached, () => (lstatSync(join(directory, 'HEAD')), realpathSync(directory)), null);
}

/** Text of a regular file that names a directory, or null. */
function smallText(file: string): string | null {
  if (lstatSync(file, { throwIfNoEntry: false })?.isFile() !== true) return null;
  return readFileUpTo(file, 8192)?.toString('utf8') ?? null;
}
