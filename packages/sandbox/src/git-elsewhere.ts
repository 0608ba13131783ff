/** Finds the data of a repository that lies outside of a project folder, and decides whether programs in the folder may have it. */

import { lstatSync, realpathSync, statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';

import { isBeneath } from '@svc/kit/files/resolve-beneath.ts';
import { unlessRefused } from '@svc/kit/files/unless-refused.ts';
import { readFileUpTo } from '@svc/kit/files/read-up-to.ts';
import { temporary } from './contained-environment.ts';
import { parseGitConfig } from './git-config.ts';
import { hasRepositoryNames, type KeptQuestion, keptGitData } from './kept-git.ts';
import { mergedPlaces } from './own-places.ts';
import type { RepositoryData } from './launch/process-grants.ts';

/** Where git finds the data of a folder's repository, outside of the folder. All paths have their links resolved. */
export interface GitElsewhere {
  /** The directory of the working tree, with its index: `data`, or beneath it. */
  readonly directory: string;
  /** The directory with the data of the repository: of a second working tree that of the first one. */
  readonly data: string;
  /** The working tree around the folder, of which git has to see what is there; null where the folder is the whole of it. */
  readonly around: string | null;
  /** Files of the working tree outside of the folder: by which git treats files in it, and by which it finds submodules. */
  readonly reads: readonly string[];
}

/** What git would find from a folder. */
export type FoundGit =
  /** No repository, or one whose data lies in the folder. */
  | { readonly kind: 'inside' }
  | { readonly kind: 'elsewhere'; readonly git: GitElsewhere }
  /** `why` ends a sentence that begins with the place. */
  | ({ readonly kind: 'closed' } & Closed);

interface GitQuestion {
  /** Why a folder is given to no agent, as the end of a sentence that begins with "it"; null for any other. */
  readonly refusalOf: (folder: string) => string | null;
  /** Whether what belongs to this user of the machine is believed, as git believes it. */
  readonly isOwn: (uid: number) => boolean;
}

/** As programs in `folder` get it. Without a `question` nothing of it is kept. */
export function repositoryData(
  { data, around, reads }: GitElsewhere,
  { folder, writable, question }: { folder: string; writable: boolean; question: KeptQuestion | null },
): RepositoryData {
  const kept = question === null ? [] : mergedPlaces(keptGitData(data, folder, question));
  return { path: data, writable, kept, around, reads };
}

/** Git reads these of each directory from the top of a working tree down to a file. */
const treating = ['.gitignore', '.gitattributes', '.gitmodules', '.mailmap'];
/** A sealed root has its own at these places. */
const ownOfRoot = [temporary, '/dev', '/proc', '/sys'];
const maxLevels = 64;

/**
 * What a git that starts in `folder`, links resolved, would take for its repository. A file `.git` is followed only to data that names this very
 * working tree in turn: anybody who packs an archive may write such a file.
 */
export function findGit(folder: string, question: GitQuestion): FoundGit {
  const found = findData(folder, question);
  const data = found.kind === 'elsewhere' ? found.git.data : join(folder, '.git');
  const lender = found.kind === 'closed' ? null : lenderOf(data, folder);
  if (lender === null) return found;
  const why = `lends objects to the repository, and is not shown: git repack -ad and rm ${lender.list} end that`;
  return closed({ place: lender.place, why });
}

/** Another repository whose objects this one needs. Anybody may name one there, and nothing in it says that it wants to be named. */
function lenderOf(data: string, folder: string): { readonly place: string; readonly list: string } | null {
  const list = join(data, 'objects/info/alternates');
  const lines = smallText(list)?.split('\n') ?? [];
  const places = lines.flatMap((line) => realOrNull(resolve(data, 'objects', line)) ?? []);
  const place = places.find((each) => !isBeneath(folder, each) && !isBeneath(data, each));
  return place === undefined ? null : { place, list };
}

function findData(folder: string, question: GitQuestion): FoundGit {
  let top = folder;
  for (let level = 0; level < maxLevels; level += 1, top = dirname(top)) {
    const git = join(top, '.git');
    const stat = unlessRefused(() => lstatSync(git, { throwIfNoEntry: false }), undefined);
    if (stat?.isFile() === true) return judge(folder, top, dataOf(folder, top, git), question);
    if (stat?.isSymbolicLink() === true) return behindLink(folder, top);
    if (stat?.isDirectory() === true && isRepository(git))
      return top === folder ? { kind: 'inside' } : judge(folder, top, { directory: git, data: git }, question);
    // A repository without a working tree.
    if (top === dirname(top) || isRepository(top)) return { kind: 'inside' };
  }
  return { kind: 'inside' };
}

/** The directory of a working tree, and the one with the data that it shares with others. */
interface GitData {
  readonly directory: string;
  readonly data: string;
}

interface Closed {
  readonly place: string;
  readonly why: string;
}

function judge(folder: string, top: string, found: GitData | Closed, question: GitQuestion): FoundGit {
  if ('why' in found) return closed(found);
  const { directory, data } = found;
  if (isBeneath(folder, data)) return { kind: 'inside' };
  const around = top === folder ? null : top;
  for (const place of [around, data]) {
    const why = place === null ? null : (question.refusalOf(place) ?? hidesRoot(place));
    if (place !== null && why !== null) return closed({ place, why });
  }
  if (isBeneath(data, folder) || hidesRoot(folder) !== null)
    return closed({ place: data, why: 'is around the folder' });
  if (around !== null && ownOfRoot.some((place) => place !== temporary && isBeneath(place, around)))
    return closed({ place: around, why: 'lies among devices' });
  const stranger = [join(top, '.git'), top, directory, data].find((place) => !question.isOwn(statSync(place).uid));
  if (stranger !== undefined) return closed({ place: stranger, why: 'belongs to another user' });
  return {
    kind: 'elsewhere',
    git: {
      directory,
      data,
      around,
      reads: around === null ? [] : [...treatingFiles(folder, around), ...submoduleFiles(folder, around)],
    },
  };
}

function closed(found: Closed): FoundGit {
  return { kind: 'closed', ...found };
}

function behindLink(folder: string, top: string): FoundGit {
  const git = join(top, '.git');
  const real = unlessRefused(() => realpathSync(git), null);
  if (real === null || isBeneath(folder, real)) return { kind: 'inside' };
  return closed({ place: git, why: 'is a link that leads out of the folder' });
}

/** What a file `.git` names, where that names the working tree in turn. */
function dataOf(folder: string, top: string, git: string): GitData | Closed {
  const named = /^gitdir: ([^\n\0]+)\n*$/.exec(smallText(git) ?? '')?.[1];
  if (named === undefined) return { place: git, why: 'is not what git makes of it' };
  const directory = unlessRefused(() => realpathSync(resolve(top, named)), null);
  if (directory === null) return { place: resolve(top, named), why: 'is not there' };
  const common = smallText(join(directory, 'commondir'));
  const data = common === null ? directory : unlessRefused(() => realpathSync(resolve(directory, common.trim())), null);
  const isWhole =
    data !== null && isRepository(data) && (data === directory || dirname(directory) === join(data, 'worktrees'));
  if (data === null || !isWhole) return { place: directory, why: 'is no data of a repository' };
  // What lies in the folder is shown anyway.
  if (isBeneath(folder, data) || namesTree({ directory, data }, git)) return { directory, data };
  const hint = data === directory ? `: git config --file ${join(data, 'config')} core.worktree ${top} says so` : '';
  return { place: directory, why: `does not say that ${top} is its working tree${hint}` };
}

/** Second working trees are named by `gitdir`, those of submodules and of separate data by the configuration. */
function namesTree({ directory, data }: GitData, git: string): boolean {
  const top = dirname(git);
  if (data !== directory) {
    const back = resolve(directory, smallText(join(directory, 'gitdir'))?.trim() ?? '');
    return basename(back) === basename(git) && realOrNull(dirname(back)) === top;
  }
  const entries = parseGitConfig(smallText(join(data, 'config')) ?? '');
  const tree = entries.findLast(({ key }) => key === 'core.worktree')?.value;
  return tree !== undefined && tree !== '' && realOrNull(resolve(data, tree)) === top;
}

/** Why a folder cannot be where it is in a root that has something of its own there. */
function hidesRoot(folder: string): string | null {
  const own = ownOfRoot.find((place) => isBeneath(folder, place));
  return own === undefined ? null : `holds ${own}`;
}

/** Those on the way to the folder, never links. */
function treatingFiles(folder: string, top: string): readonly string[] {
  const files: string[] = [];
  for (let above = dirname(folder); isBeneath(top, above); above = dirname(above)) {
    files.push(...treatingIn(above));
    if (above === top) break;
  }
  return files;
}

function treatingIn(directory: string): readonly string[] {
  const here = treating.map((name) => join(directory, name));
  return here.filter((file) => lstatSync(file, { throwIfNoEntry: false })?.isFile() === true);
}

const maxSubmodules = 256;

/** The files `.git` of submodules beside the folder, without which git gives up, and what treats files there. */
function submoduleFiles(folder: string, top: string): readonly string[] {
  const trees = [top];
  for (const tree of trees) {
    const named = parseGitConfig(smallText(join(tree, '.gitmodules')) ?? '').filter(({ key }) =>
      /^submodule\..*\.path$/s.test(key),
    );
    for (const { value } of named) {
      const place = resolve(tree, value);
      const isOne = place !== tree && isBeneath(tree, place) && realOrNull(place) === place && !trees.includes(place);
      if (isOne && trees.length <= maxSubmodules) trees.push(place);
    }
  }
  const beside = trees.filter((tree) => tree !== top && !isBeneath(folder, tree));
  const found = beside.filter((tree) => smallText(join(tree, '.git'))?.startsWith('gitdir: ') === true);
  return found.flatMap((tree) => [join(tree, '.git')].concat(treatingIn(tree)));
}

function isRepository(directory: string): boolean {
  return hasRepositoryNames(
    (name) => unlessRefused(() => lstatSync(join(directory, name), { throwIfNoEntry: false }), undefined) !== undefined,
  );
}

function realOrNull(path: string): string | null {
  return unlessRefused(() => realpathSync(path), null);
}

function smallText(file: string): string | null {
  return unlessRefused(
    () => (lstatSync(file).isFile() ? (readFileUpTo(file, 64 * 1024)?.toString('utf8') ?? null) : null),
    null,
  );
}
