/** Puts aside each repository that a task made in a folder, unless git finds nothing in it to run or to obey: no mount keeps what is not there yet. */

import { chmodSync, constants, lstatSync, openSync, renameSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';

import type { Clock } from '@svc/kit/clock.ts';
import { isErrno, isSystemError } from '@svc/kit/diagnostics/system-reason.ts';
import { HeldDirectory, O_PATH } from '@svc/kit/files/held-directory.ts';
import { unlessRefused } from '@svc/kit/files/unless-refused.ts';
import { below, type ByteEntry, eachEntryIn, textOf } from './byte-names.ts';
import { hasRepositoryNames } from './kept-git.ts';
import { isPlainRepository, namesIn, plainWorktree } from './plain-repository.ts';

/** The entries of each directory that was read when the session began, by its path, bytes one a character. */
export type StartNames = ReadonlyMap<
  string,
  { readonly names: readonly string[]; readonly directories: readonly string[] }
>;

/** Paths are below the folder; their bytes are read as UTF-8. */
export interface PutAside {
  /** What has another name now, and that name. */
  readonly moved: readonly { readonly from: string; readonly to: string }[];
  /** Which repositories could not be put aside. */
  readonly left: readonly string[];
  /** Why there may be more; null where all was looked at. */
  readonly unseen: string | null;
}

interface FirstRepositories {
  readonly path: string;
  readonly clock: Pick<Clock, 'monotonicMs'>;
  /** What each directory held when the session began; paths here are bytes, one a character. */
  readonly names: StartNames;
  /** What mounts keep, and what they mask: neither is the task's. */
  readonly kept: readonly string[];
  readonly masked: readonly string[];
  /** Directories in which no task can make anything. */
  readonly closed: (path: string) => boolean;
}

const maxEntries = 1_000_000;
const maxMs = 5000;
const maxNames = 99;
const obeyed = ['config', 'config.worktree', 'commondir', 'hooks', 'info', 'modules', 'branches', 'remotes'] as const;
const aside = 'made-by-task';
const { O_DIRECTORY, O_NOFOLLOW } = constants;

/** Whether `svc` gave it that name. */
export function isPutAside(name: string): boolean {
  return name.startsWith(`.git.${aside}`);
}

/** The repositories of a folder when a session began. */
export class MadeRepositories {
  readonly #root: string;
  readonly #first: FirstRepositories;
  readonly #kept: ReadonlySet<string>;
  readonly #masked: ReadonlySet<string>;
  /** What git obeys in those that nothing keeps, as it was. */
  readonly #stamps = new Map<string, string>();
  #moved: { readonly from: string; readonly to: string }[] = [];
  #left: string[] = [];
  #unread: string[] = [];

  constructor(first: FirstRepositories) {
    this.#first = first;
    this.#root = Buffer.from(first.path).toString('latin1');
    this.#kept = new Set(first.kept.map(bytesOf));
    this.#masked = new Set(first.masked.map(bytesOf));
    for (const [path, { names }] of first.names) {
      if (isInGit(path)) continue;
      const git = names.filter(isGit).map((name) => below(path, name));
      for (const place of [...git, ...(isLayout(names) ? [path] : [])])
        if (!this.#kept.has(place)) this.#stamps.set(place, this.#stampOf(place));
    }
  }

  /** To be called once all programs of the session have ended. Those above others first. */
  putAside(): PutAside {
    [this.#moved, this.#left, this.#unread] = [[], [], []];
    const { clock } = this.#first;
    const startedMs = clock.monotonicMs();
    const waiting = [''];
    let entries = 0;
    let isWhole = true;
    for (const path of waiting) {
      if (!isWhole) break;
      const found = this.#entriesOf(path, maxEntries + 1 - entries);
      entries += found.length;
      for (const name of this.#directoriesAfter(path, found)) waiting.push(below(path, name));
      isWhole = entries <= maxEntries && clock.monotonicMs() - startedMs <= maxMs;
    }
    const unseen = [
      ...(isWhole ? [] : [`the folder holds more than svc looks at, ${maxEntries} files or ${maxMs / 1000} seconds`]),
      ...(this.#unread.length === 0 ? [] : [`${this.#unread.slice(0, 5).map(textOf).join(', ')} cannot be read`]),
    ];
    const moved = this.#moved.map(({ from, to }) => ({ from: textOf(from), to: textOf(to) }));
    return { moved, left: this.#left.map(textOf), unseen: unseen.length === 0 ? null : unseen.join(', and ') };
  }

  /** Deals with the repositories in a directory, and says where to look on. */
  #directoriesAfter(path: string, entries: readonly ByteEntry[]): readonly string[] {
    for (const { name, kind } of entries) {
      const place = below(path, name);
      if (isGit(name) && !this.#isFirst(place) && !this.#isPlain(place, kind)) this.#moveRepository(path, name);
    }
    const names = entries.map(({ name }) => name);
    if (isLayout(names) && !this.#isFirst(path) && !this.#isPlain(path, 'directory'))
      this.#move(path, { name: 'HEAD', to: `HEAD.${aside}` });
    return names.filter((name, at) => {
      const place = below(path, name);
      return (
        entries[at]?.kind === 'directory' && !isGit(name) && !this.#masked.has(place) && !this.#first.closed(place)
      );
    });
  }

  #isFirst(place: string): boolean {
    if (this.#kept.has(place)) return true;
    const stamp = this.#stamps.get(place);
    return stamp !== undefined && stamp === this.#stampOf(place);
  }

  #isPlain(place: string, kind: ByteEntry['kind']): boolean {
    try {
      if (kind === 'directory') return this.#in(place, isPlainRepository);
      return kind === 'file' && this.#leadsToPlain(place);
    } catch (error) {
      // Git may read what this user cannot list.
      if (isSystemError(error)) return false;
      throw error;
    }
  }

  /** A `.git` that is a file names a directory, which has to be in the folder and plain itself. */
  #leadsToPlain(place: string): boolean {
    const text = this.#in(parentOf(place), (held) => held.readFile(nameOf(place), 8192))?.toString('latin1') ?? '';
    const named = /^gitdir: ([^\n\0]+)\n?$/.exec(text)?.[1];
    if (named === undefined) return false;
    const target = resolve(dirname(this.#at(place)), named);
    if (!target.startsWith(`${this.#root}/`)) return false;
    const inside = target.slice(this.#root.length + 1);
    const common = /^((?:.*\/)?\.git)\/worktrees\/[^/]+$/s.exec(inside)?.[1];
    if (common === undefined) return this.#in(inside, isPlainRepository);
    return (this.#isFirst(common) || this.#in(common, isPlainRepository)) && this.#in(inside, plainWorktree);
  }

  /** Its `HEAD` gets another name too: git takes any directory for a repository that looks like one. */
  #moveRepository(path: string, name: string): void {
    const to = this.#move(path, { name, to: `.git.${aside}` });
    const moved = to === null ? null : below(path, to);
    if (moved === null || !lstatSync(this.#bytes(moved)).isDirectory()) return;
    unlessRefused(() => this.#rename(moved, { name: 'HEAD', to: `HEAD.${aside}` }), null);
  }

  #move(path: string, names: Names): string | null {
    const from = below(path, names.name);
    try {
      const to = this.#rename(path, names);
      this.#moved.push({ from, to: below(path, to) });
      return to;
    } catch (error) {
      if (!isSystemError(error)) throw error;
      this.#left.push(from);
      return null;
    }
  }

  /** To a name that nothing has. */
  #rename(path: string, { name, to }: Names): string {
    return this.#in(path, (held) =>
      opened(held, () => {
        for (let count = 1; count <= maxNames; count += 1) {
          const free = count === 1 ? to : `${to}-${count}`;
          if (lstatSync(held.entry(free), { throwIfNoEntry: false }) !== undefined) continue;
          renameSync(entryBytes(held, name), held.entry(free));
          return free;
        }
        throw Object.assign(new Error(`${to} and the names after it are taken`), { code: 'EEXIST' });
      }),
    );
  }

  #entriesOf(path: string, most: number): readonly ByteEntry[] {
    try {
      return this.#in(path, (held) => opened(held, () => entriesIn(held, most)));
    } catch (error) {
      if (isErrno(error, 'ENOENT', 'ENOTDIR', 'ELOOP')) return [];
      if (!isSystemError(error)) throw error;
      this.#unread.push(path);
      return [];
    }
  }

  /** Reached through no link. */
  #in<T>(path: string, use: (held: HeldDirectory) => T): T {
    let held = HeldDirectory.at(this.#first.path);
    try {
      for (const name of path.split('/').filter((part) => part !== '')) {
        const above = held;
        held = enter(above, name);
        above.close();
      }
      return use(held);
    } finally {
      held.close();
    }
  }

  #stampOf(place: string): string {
    const hooks = unlessRefused(() => namesIn(this.#bytes(`${place}/hooks`)), []) ?? [];
    const parts = ['', ...obeyed.map((name) => `/${name}`), ...hooks.map((name) => `/hooks/${name}`)];
    return parts
      .map((part) => {
        const stat = unlessRefused(() => lstatSync(this.#bytes(`${place}${part}`), { bigint: true }), null);
        if (stat === null) return '-';
        // Git makes and removes locks in the directory itself.
        return part === '' && stat.isDirectory() ? `${stat.ino}` : `${stat.ino} ${stat.ctimeNs}`;
      })
      .join(',');
  }

  #at(path: string): string {
    return path === '' ? this.#root : `${this.#root}/${path}`;
  }

  #bytes(path: string): Buffer {
    return Buffer.from(this.#at(path), 'latin1');
  }
}

interface Names {
  readonly name: string;
  readonly to: string;
}

/** Up to `most`. */
function entriesIn(held: HeldDirectory, most: number): readonly ByteEntry[] {
  const entries: ByteEntry[] = [];
  for (const entry of eachEntryIn(held.path)) {
    if (entries.length >= most) break;
    entries.push(entry);
  }
  return entries;
}

/** A task can close a directory to listing and writing that git still gets through. Its mode is given back. */
function opened<T>(held: HeldDirectory, use: () => T): T {
  try {
    return use();
  } catch (error) {
    if (!isErrno(error, 'EACCES', 'EPERM')) throw error;
  }
  const mode = statSync(held.path).mode & 0o7777;
  chmodSync(held.path, mode | 0o700);
  try {
    return use();
  } finally {
    chmodSync(held.path, mode);
  }
}

function enter(from: HeldDirectory, name: string): HeldDirectory {
  if (from.fd === null) return from.enter(textOf(name));
  return HeldDirectory.of(openSync(entryBytes(from, name), O_PATH | O_DIRECTORY | O_NOFOLLOW));
}

function entryBytes(held: HeldDirectory, name: string): Buffer {
  return Buffer.concat([Buffer.from(held.entry('')), Buffer.from(name, 'latin1')]);
}

/** What git takes for the directory of a repository, whatever its name. */
function isLayout(names: readonly string[]): boolean {
  const has = (name: string): boolean => names.includes(name);
  return hasRepositoryNames(has) || (has('HEAD') && has('commondir'));
}

function isGit(name: string): boolean {
  return name.toLowerCase() === '.git';
}

function isInGit(path: string): boolean {
  return path.split('/').some(isGit);
}

function parentOf(place: string): string {
  return place.includes('/') ? dirname(place) : '';
}

function nameOf(place: string): string {
  return place.slice(place.lastIndexOf('/') + 1);
}

function bytesOf(text: string): string {
  return Buffer.from(text).toString('latin1');
}
