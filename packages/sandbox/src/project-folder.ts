/** Finds the files of a project folder that no agent is shown. */

import { lstatSync, realpathSync, type BigIntStats } from 'node:fs';
import { join } from 'node:path';

import type { Clock } from '@svc/kit/clock.ts';
import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { isErrno } from '@svc/kit/diagnostics/system-reason.ts';
import { ioFault } from '@svc/kit/files/io-fault.ts';
import { unlessRefused } from '@svc/kit/files/unless-refused.ts';
import { isBeneath } from '@svc/kit/files/resolve-beneath.ts';
import { isMaskedInWorkdir, isMaskedName, shownOfState, stateName } from '@svc/kit/files/masked-names.ts';
import { below, byDirectory, decoded, entriesIn } from './byte-names.ts';
import { FolderAtStart, maxEntries as maxRemembered, type FolderChanges } from './folder-changes.ts';
import { repositoryData, type GitElsewhere } from './git-elsewhere.ts';
import { isRepository, keptGit } from './kept-git.ts';
import { MadeRepositories, type PutAside } from './made-repositories.ts';
import { elsewhere, keptWays, mergedPlaces, openProgram, type OwnPlace, ownPartsOf, whyClass } from './own-places.ts';
import type { KeptPlace, MaskedPlace, ProjectFolder, RepositoryData } from './launch/process-grants.ts';

interface ProjectRequest {
  /** Links resolved. */
  readonly path: string;
  /** Whether it is the workdir itself: what a session keeps for itself in `.svc` is shown then, and the rest of `.svc` is not. */
  readonly isWorkdir: boolean;
  readonly writable: boolean;
  /** Whether programs that may write leave what git runs as it is. */
  readonly keepsGit: boolean;
  /** Whether it is opened for a report, which makes nothing in it. */
  readonly isReport?: boolean;
  /** Paths below it that are masked beside the usual names; none when absent. */
  readonly masks?: readonly string[];
  /** The data of its repository, where that lies elsewhere and programs may have it; absent where they have none. */
  readonly git?: GitElsewhere;
  /** Places of the program itself in it: programs that may write leave them alone. */
  readonly own: readonly OwnPlace[];
  /** Whether masked places have to be left out by naming the others, as in `scoped`; mounts cover them elsewhere. */
  readonly splits: boolean;
  readonly clock: Pick<Clock, 'now' | 'monotonicMs'>;
  /** Whose programs see it. */
  readonly uid: number;
}

const maxEntries = 1_000_000;
const maxMasked = 256;
/** A plan has room for 1,024 rules; most are for files of the system. */
const maxParts = 600;
/** Two changes of a directory within one tick of the kernel's clock show the same time. */
const tickMs = 50;
/** One directory as it was read. A path is its bytes, one a character: a name may be anything but a slash. */
interface ReadDirectory {
  readonly stamp: string;
  readonly readAtMs: number;
  readonly directories: readonly string[];
  /** Files and what else is no directory. Only kept where it is needed. */
  readonly others: readonly string[];
  /** Everything in it, where it may be written. */
  readonly names: readonly string[];
  readonly masked: readonly { readonly path: string; readonly kind: 'file' | 'directory' | 'link' }[];
  /** The `.git` in it, or itself where it is the directory of a repository; null without one, and at the top. */
  readonly repository: string | null;
  readonly count: number;
}

/**
 * The folder at `path`, looked through once. Directories that have not changed since are not read again. Throws `E-CAP-023` for a folder
 * whose masked places cannot be kept from programs, `E-CAP-024` for one whose repository cannot be kept as it is, `E-CAP-025` for one where the program itself cannot be, `E-IO-001` for one that cannot be read.
 */
export function openProjectFolder(request: ProjectRequest): OpenedFolder {
  const folder = new WatchedFolder(request);
  folder.look();
  return folder;
}

/** A project folder that can also report what changed in it. */
export interface OpenedFolder extends ProjectFolder {
  /** Since it was opened; null where nothing may be written. */
  changes(): FolderChanges | null;
  /** Once all programs have ended: the repositories that a task made there; null where git is not kept. */
  putAside(): PutAside | null;
}

class WatchedFolder implements OpenedFolder {
  readonly path: string;
  readonly isWorkdir: boolean;
  readonly writable: boolean;
  masked: readonly MaskedPlace[] = [];
  kept: readonly KeptPlace[] = [];
  git: RepositoryData | null = null;
  parts: readonly string[] | null = null;
  readonly keepsGit: boolean;
  readonly own: readonly KeptPlace[];
  readonly #isReport: boolean;
  readonly #splits: boolean;
  readonly #clock: ProjectRequest['clock'];
  readonly #uid: number;
  readonly #root: string;
  readonly #identity: string;
  #known = new Map<string, ReadDirectory>();
  #start: FolderAtStart | null = null;
  #made: MadeRepositories | null = null;
  /** The kept places of the repositories when the session began. */
  #firstGit: readonly KeptPlace[] | null = null;
  #firstData: readonly KeptPlace[] | null = null;
  readonly #elsewhere: GitElsewhere | null;
  /** Names that are masked beside the usual ones, by their directory. */
  readonly #masks: ReadonlyMap<string, ReadonlySet<string>>;
  /** Masked places whose names do not say so: they stay where they are, and masked when no link leads to them any more. */
  readonly #named: Set<string>;

  constructor({
    path,
    isWorkdir,
    writable,
    keepsGit,
    isReport,
    own,
    splits,
    clock,
    uid,
    git,
    masks = [],
  }: ProjectRequest) {
    this.#masks = byDirectory(masks);
    this.#named = new Set(masks.map((mask) => Buffer.from(mask).toString('latin1')));
    this.#elsewhere = git ?? null;
    this.#isReport = isReport ?? false;
    this.path = path;
    this.isWorkdir = isWorkdir;
    this.writable = writable;
    this.keepsGit = writable && keepsGit;
    this.own = writable ? ownPartsOf(path, own, splits) : [];
    if (isWorkdir && this.own.some((place) => isBeneath(stateName, place.path)))
      throw openProgram(`a part of it lies in ${path}/${stateName}`, elsewhere);
    this.#splits = splits;
    this.#clock = clock;
    this.#uid = uid;
    this.#root = Buffer.from(path).toString('latin1');
    this.#identity = this.#identityNow();
  }

  look(): void {
    if (this.#identityNow() !== this.#identity)
      throw new Diagnostic('E-IO-001', `${this.path} is another folder than when the session began`);
    const known = this.#readAll();
    this.#known = known;
    // Only a project has its changes reported, and nothing is asked of a folder that was only reported on.
    if (this.writable && !this.isWorkdir && !this.#isReport) this.#start ??= this.#atStart(known);
    const masked = this.#maskedIn(known);
    if (masked.length > maxMasked) throw unmaskable(`${this.path} holds more than ${maxMasked} masked files`);
    this.masked = masked.map(({ path, isDirectory }) => ({ path: this.#text(path), isDirectory }));
    const named = this.writable && !this.#splits ? masked.filter(({ path }) => this.#named.has(path)) : [];
    const ways = named.flatMap(({ path }) => keptWays(this.path, join(this.path, this.#text(path))));
    const kept = mergedPlaces([...this.#keptGit(known), ...this.own, ...ways]);
    this.kept = this.isWorkdir && this.writable && !this.#splits ? [...keptState(known), ...kept] : kept;
    this.git = this.#elsewhere === null ? null : this.#repositoryData(this.#elsewhere);
    if (this.keepsGit && !this.#isReport) this.#made ??= this.#madeSince(known);
    this.parts = this.#splits && masked.length > 0 ? this.#partsBeside(masked, known) : null;
    if (this.parts !== null && this.writable) {
      const [first] = this.masked;
      throw unmaskable(
        `${this.path} holds ${first?.path ?? ''}, which is only kept from programs that may write beside it in class sealed`,
      );
    }
  }

  changes(): FolderChanges | null {
    return this.#start?.changes() ?? null;
  }

  putAside(): PutAside | null {
    return this.#made?.putAside() ?? null;
  }

  #madeSince(known: ReadonlyMap<string, ReadDirectory>): MadeRepositories {
    const closed = (path: string): boolean =>
      this.isWorkdir && path.startsWith(`${stateName}/`) && !shownOfState.has(path.split('/')[1] ?? '');
    const pathsOf = (places: readonly { readonly path: string }[]): string[] => places.map(({ path }) => path);
    const [kept, masked] = [pathsOf(this.#firstGit ?? []), pathsOf(this.masked)];
    return new MadeRepositories({ path: this.path, clock: this.#clock, names: known, kept, masked, closed });
  }

  #atStart(known: ReadonlyMap<string, ReadDirectory>): FolderAtStart {
    let entries = 0;
    for (const { count } of known.values()) entries += count;
    const git = this.#elsewhere?.directory ?? `${this.path}/.git`;
    return new FolderAtStart({
      path: this.path,
      clock: this.#clock,
      names: entries > maxRemembered ? null : known,
      git,
    });
  }

  #keptGit(known: ReadonlyMap<string, ReadDirectory>): readonly KeptPlace[] {
    if (!this.keepsGit) return [];
    const nested = [...known.values()].flatMap(({ repository }) =>
      repository === null ? [] : [this.#text(repository)],
    );
    const kept = keptGit(this.path, !this.#splits, { nested, first: this.#firstGit, makes: !this.#isReport });
    this.#firstGit ??= kept;
    return kept;
  }

  #repositoryData(elsewhere: GitElsewhere): RepositoryData {
    // Without mounts nothing is kept, and git only reads.
    const writable = this.writable && !(this.keepsGit && this.#splits);
    const first = this.#firstData;
    const question = writable && this.keepsGit ? { first, makes: !this.#isReport } : null;
    const data = repositoryData(elsewhere, { folder: this.path, writable, question });
    this.#firstData ??= data.kept;
    return data;
  }

  #identityNow(): string {
    try {
      const { dev, ino } = this.#stat('');
      return `${dev} ${ino}`;
    } catch (error) {
      throw ioFault(error, `the folder ${this.path} cannot be opened`);
    }
  }

  #readAll(): Map<string, ReadDirectory> {
    const found = new Map<string, ReadDirectory>();
    const waiting = [''];
    let entries = 0;
    for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
      const read = this.#readDirectory(path);
      if (read === null) continue;
      found.set(path, read);
      entries += read.count;
      if (entries > maxEntries) throw unmaskable(`${this.path} holds more than ${maxEntries} files`);
      for (const name of read.directories) waiting.push(below(path, name));
    }
    return found;
  }

  /** Returns null for one that is gone by now, or that this user cannot read either. */
  #readDirectory(path: string): ReadDirectory | null {
    try {
      const stamp = stampOf(this.#stat(path));
      const known = this.#known.get(path);
      if (known?.stamp === stamp && isOlder(known)) return known;
      const readAtMs = this.#clock.now();
      return this.#sorted(path, stamp, readAtMs);
    } catch (error) {
      if (path !== '' && isErrno(error, 'ENOENT', 'ENOTDIR', 'ELOOP')) return null;
      // The agent could make it readable if it may write; its owner can if no mount keeps modes.
      if (path !== '' && isErrno(error, 'EACCES', 'EPERM'))
        return this.writable || (this.#splits && !this.#isOfAnother(path)) ? hiddenWhole(path) : null;
      throw ioFault(error, `the folder ${this.path} cannot be read`);
    }
  }

  /** False where a folder above it does not show that. */
  #isOfAnother(path: string): boolean {
    const stat = unlessRefused(() => this.#stat(path), null);
    return stat !== null && Number(stat.uid) !== this.#uid;
  }

  #sorted(path: string, stamp: string, readAtMs: number): ReadDirectory {
    const entries = entriesIn(Buffer.from(this.#at(path), 'latin1'));
    const directories: string[] = [];
    const others: string[] = [];
    const masked: ReadDirectory['masked'][number][] = [];
    const names: string[] = [];
    let repository: string | null = null;
    const also = this.#masks.get(path);
    for (const entry of entries) {
      const { name } = entry;
      if (this.writable) names.push(name);
      const isDirectory = entry.isDirectory();
      // Most names are looked at no closer: a folder may hold a million.
      const isDotted = name.startsWith('.');
      if (isDotted && name.toLowerCase() === '.git' && path !== '') repository = below(path, name);
      if (path === stateName && shownOfState.has(name)) {
        others.push(name);
      } else if (
        path === stateName ||
        also?.has(name) === true ||
        (isDotted && isMaskedName(name) && !this.#isState(path, name, isDirectory))
      ) {
        const kind = isDirectory ? 'directory' : entry.isSymbolicLink() ? 'link' : 'file';
        masked.push({ path: below(path, name), kind });
      } else if (isDirectory) directories.push(name);
      else if (this.#splits && entry.isFile()) others.push(name);
    }
    if (isRepository(path, entries)) repository = path;
    return { stamp, readAtMs, directories, others, names, masked, repository, count: entries.length };
  }

  /** Only of a workdir is it looked into: elsewhere it is masked whole. */
  #isState(path: string, name: string, isDirectory: boolean): boolean {
    return this.isWorkdir && isDirectory && path === '' && name === stateName;
  }

  /** By their paths, none inside another; a link by what it leads to, as far as that is in the folder. */
  #maskedIn(known: ReadonlyMap<string, ReadDirectory>): readonly MaskedPlace[] {
    const places = new Map<string, boolean>();
    for (const { masked } of known.values()) {
      for (const { path, kind } of masked) {
        if (kind !== 'link') places.set(path, kind === 'directory');
        else this.#addTarget(path, places);
      }
    }
    for (const path of this.#named) this.#addTarget(path, places);
    const outermost: MaskedPlace[] = [];
    for (const path of [...places.keys()].sort()) {
      if (outermost.some((place) => path.startsWith(`${place.path}/`))) continue;
      outermost.push({ path, isDirectory: places.get(path) ?? false });
    }
    return outermost;
  }

  #addTarget(path: string, places: Map<string, boolean>): void {
    const place = this.#target(path);
    if (place === null) return;
    places.set(place.path, place.isDirectory);
    if (!isMaskedInWorkdir(place.path)) this.#named.add(place.path);
  }

  #target(path: string): MaskedPlace | null {
    try {
      const place = Buffer.from(this.#at(path), 'latin1');
      const real = realpathSync.native(place, { encoding: 'buffer' }).toString('latin1');
      if (!real.startsWith(`${this.#root}/`)) return null;
      const inside = real.slice(this.#root.length + 1);
      return { path: inside, isDirectory: this.#stat(inside).isDirectory() };
    } catch (error) {
      if (isErrno(error, 'ENOENT', 'ENOTDIR', 'ELOOP', 'EACCES')) return null;
      throw ioFault(error, `the folder ${this.path} cannot be read`);
    }
  }

  /** Everything beside the masked places, in as few as there can be. Those without a name in UTF-8 are left out too. */
  #partsBeside(masked: readonly MaskedPlace[], known: ReadonlyMap<string, ReadDirectory>): readonly string[] {
    const hidden = new Set(masked.map(({ path }) => path));
    const holds = (path: string): boolean => masked.some((place) => place.path.startsWith(`${path}/`));
    const parts: string[] = [];
    const waiting = [''];
    for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
      const { directories = [], others = [] } = known.get(path) ?? {};
      for (const name of [...directories, ...others]) {
        const part = below(path, name);
        if (holds(part)) waiting.push(part);
        else if (!hidden.has(part)) parts.push(part);
      }
      if (parts.length > maxParts)
        throw unmaskable(`${this.path} has more than ${maxParts} entries beside masked files`);
    }
    return parts.flatMap((part) => decoded(this.#at(part)) ?? []).sort();
  }

  #at(path: string): string {
    return path === '' ? this.#root : `${this.#root}/${path}`;
  }

  #stat(path: string): BigIntStats {
    return lstatSync(Buffer.from(this.#at(path), 'latin1'), { bigint: true });
  }

  #text(path: string): string {
    const text = decoded(path);
    if (text === null) throw unmaskable(`${this.path} holds a masked file whose path is no UTF-8 text`);
    return text;
  }
}

/** Nothing can be made in `.svc` of a workdir, and what programs are shown of it can be changed. Its home is mounted with each launch. */
function keptState(known: ReadonlyMap<string, ReadDirectory>): readonly KeptPlace[] {
  const state = known.get(stateName);
  if (state === undefined) return [];
  return [
    { path: stateName, writable: false },
    ...(state.others.includes('children') ? [{ path: `${stateName}/children`, writable: true }] : []),
  ];
}

/** It is read again with each look. */
function hiddenWhole(path: string): ReadDirectory {
  const masked = [{ path, kind: 'directory' }] as const;
  return { stamp: '', readAtMs: 0, directories: [], others: [], names: [], masked, repository: null, count: 1 };
}

function isOlder({ stamp, readAtMs }: ReadDirectory): boolean {
  const [changedMs = 0] = stamp.split(' ').map(Number);
  return changedMs < readAtMs - tickMs;
}

/** Its last change in milliseconds, then all that changes with what is in it. */
function stampOf({ ctimeMs, ctimeNs, mtimeNs, ino, mode }: BigIntStats): string {
  return `${ctimeMs} ${ctimeNs} ${mtimeNs} ${ino} ${mode}`;
}

function unmaskable(problem: string): Diagnostic {
  return new Diagnostic('E-CAP-023', `.env files cannot be kept from programs here: ${problem}`, {
    hint: `give the agent a folder below, or move such files out of this one; ${whyClass}`,
  });
}
