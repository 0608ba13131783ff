/** Looks at the files of this machine: follows paths as the kernel does, and collects what a command needs. */

import { closeSync, constants, fstatSync, lstatSync, openSync, readdirSync, readlinkSync } from 'node:fs';

import { unlessRefused } from '@svc/kit/files/unless-refused.ts';
import { fillSync } from '@svc/kit/files/transfer-sync.ts';
import { identityOf } from '@svc/kit/files/file-identity.ts';
import { parseProgram, type ProgramFormat } from './elf.ts';
import { type LoaderCache, loaderCachePath, readLoaderCache } from './loader-cache.ts';
import type { OpenedFile, PathWalk, FileEntry, SymbolicLink } from './opened-file.ts';

/**
 * The file system as far as the search for a program's files looks at it. Paths are absolute. Whatever cannot be looked
 * at, for any reason, is null: to the program it will not be there either.
 */
export interface FileHost {
  look(path: string): FileEntry | null;
  linkTarget(path: string): string | null;
  /** Names in a directory, in no order. */
  list(path: string): readonly string[] | null;
  /** The names of directories, and of links, which may lead to one. The caller need not look at each of the other names. */
  listBranches(path: string): readonly string[] | null;
  /** Returns null for everything but a regular file; never waits, whatever stands there. */
  open(path: string): OpenedFile | null;
}

/** This machine's files. */
export const systemFiles: FileHost = {
  look: (path) =>
    unlessRefused(() => {
      const found = lstatSync(path, { throwIfNoEntry: false });
      if (found === undefined) return null;
      const executable = (found.mode & 0o111) !== 0;
      if (found.isFile()) return { kind: 'file', executable };
      if (found.isDirectory()) return { kind: 'directory', executable };
      return { kind: found.isSymbolicLink() ? 'link' : 'other', executable };
    }, null),
  linkTarget: (path) => unlessRefused(() => readlinkSync(path), null),
  list: (path) => unlessRefused(() => readdirSync(path), null),
  listBranches: (path) =>
    unlessRefused(
      () =>
        readdirSync(path, { withFileTypes: true }).flatMap((entry) =>
          entry.isDirectory() || entry.isSymbolicLink() ? [entry.name] : [],
        ),
      null,
    ),
  open: (path) => unlessRefused(() => openRegularFile(path), null),
};

function openRegularFile(path: string): OpenedFile | null {
  // Without O_NONBLOCK a FIFO under a library's name would hold us for ever.
  const descriptor = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY);
  const found = fstatSync(descriptor, { bigint: true });
  if (!found.isFile()) {
    closeSync(descriptor);
    return null;
  }
  return {
    identity: identityOf(found),
    size: Number(found.size),
    read: (offset, length) => readFully(descriptor, offset, length),
    close: () => closeSync(descriptor),
  };
}

function readFully(descriptor: number, offset: number, length: number): Buffer {
  const bytes = Buffer.allocUnsafe(length);
  return bytes.subarray(
    0,
    unlessRefused(() => fillSync(descriptor, bytes, offset), 0),
  );
}

/**
 * Files, by their own paths without links, sorted, none beneath another of the same list. A directory stands for all
 * that is beneath it.
 */
export interface CollectedFiles {
  /** To be read, and to be mapped as code. */
  readonly read: readonly string[];
  /** To be started, and so also to be read; not repeated in `read`. */
  readonly execute: readonly string[];
  /** Links by which the program or the loader comes to them; none beneath a directory above. */
  readonly links: readonly SymbolicLink[];
  /** Sentences for an operator: what is missing, or cannot be known from files. */
  readonly problems: readonly string[];
}

/** What has been found so far for one command. */
export class FileCollection {
  readonly host: FileHost;
  readonly #walker: PathWalker;
  readonly #parsed: ParsedFiles;
  readonly #read = new Set<string>();
  readonly #execute = new Set<string>();
  readonly #links = new Map<string, string>();
  readonly #problems = new Set<string>();

  constructor(host: FileHost) {
    this.host = host;
    this.#walker = new PathWalker(host);
    this.#parsed = parsedFilesOf(host);
  }

  find(path: string): PathWalk | null {
    return this.#walker.walk(path);
  }

  format(walk: PathWalk): ProgramFormat | null {
    return walk.kind === 'file' ? this.#parsed.format(walk.path) : null;
  }

  loaderCache(): LoaderCache {
    return this.#parsed.loaderCache();
  }

  read(walk: PathWalk): void {
    this.#read.add(walk.path);
    for (const link of walk.links) this.link(link);
  }

  execute(walk: PathWalk): void {
    this.#execute.add(walk.path);
    for (const link of walk.links) this.link(link);
  }

  link({ path, target }: SymbolicLink): void {
    this.#links.set(path, target);
  }

  problem(sentence: string): void {
    this.#problems.add(sentence);
  }

  /** Keeps what `look` finds, and none of its problems. */
  unreported(look: () => void): void {
    const before = new Set(this.#problems);
    look();
    for (const problem of this.#problems) if (!before.has(problem)) this.#problems.delete(problem);
  }

  /** Whether something is there already, so that it need not be looked at twice. */
  canExecute(path: string): boolean {
    return this.#execute.has(path);
  }

  result(): CollectedFiles {
    const execute = [...this.#execute].filter((path) => !liesBeneath(path, this.#execute)).sort();
    const read = [...this.#read].filter(
      (path) => !this.#execute.has(path) && !liesBeneath(path, this.#read) && !liesBeneath(path, this.#execute),
    );
    const links = [...this.#links].filter(
      ([path]) => !liesBeneath(path, this.#read) && !liesBeneath(path, this.#execute),
    );
    return {
      read: read.sort(),
      execute,
      links: links.map(([path, target]) => ({ path, target })).sort((one, other) => (one.path < other.path ? -1 : 1)),
      problems: [...this.#problems],
    };
  }
}

function liesBeneath(path: string, directories: ReadonlySet<string>): boolean {
  for (let end = path.lastIndexOf('/'); end > 0; end = path.lastIndexOf('/', end - 1)) {
    if (directories.has(path.slice(0, end))) return true;
  }
  return false;
}

/** As many links as the kernel follows in one path. */
const maxLinks = 40;
const maxSegments = 4096;

/** Follows paths as the kernel does, a segment at a time, and remembers what it saw: for one question, not for longer. */
export class PathWalker {
  readonly #host: FileHost;
  readonly #walks = new Map<string, PathWalk | null>();
  readonly #entries = new Map<string, FileEntry | null>();

  constructor(host: FileHost) {
    this.#host = host;
  }

  /** Returns null when an absolute path leads nowhere: something missing, a file used as a directory, links in a circle. */
  walk(path: string): PathWalk | null {
    const known = this.#walks.get(path);
    if (known !== undefined) return known;
    const walk = path.startsWith('/') && !path.includes('\0') ? this.#follow(path) : null;
    this.#walks.set(path, walk);
    return walk;
  }

  #follow(path: string): PathWalk | null {
    const left = segmentsOf(path).toReversed();
    const links: SymbolicLink[] = [];
    const names: string[] = [];
    let at = '';
    let entry: FileEntry = { kind: 'directory', executable: true };
    for (let count = 0; left.length > 0; count += 1) {
      const segment = left.pop() ?? '';
      if (count >= maxSegments || entry.kind !== 'directory') return null;
      if (segment === '.') continue;
      if (segment === '..') {
        at = at.slice(0, Math.max(at.lastIndexOf('/'), 0));
        continue;
      }
      const next = `${at}/${segment}`;
      const found = this.#look(next);
      if (found === null) return null;
      if (found.kind !== 'link') {
        at = next;
        entry = found;
        continue;
      }
      const target = this.#host.linkTarget(next);
      if (target === null || target === '' || links.length >= maxLinks) return null;
      links.push({ path: next, target });
      if (left.length === 0) names.push(next);
      if (target.startsWith('/')) at = '';
      left.push(...segmentsOf(target).toReversed());
    }
    const own = at === '' ? '/' : at;
    return { path: own, kind: entry.kind, executable: entry.executable, links, names: [...names, own] };
  }

  #look(path: string): FileEntry | null {
    const known = this.#entries.get(path);
    if (known !== undefined) return known;
    const found = this.#host.look(path);
    this.#entries.set(path, found);
    return found;
  }
}

function segmentsOf(path: string): string[] {
  const segments = path.split('/').filter((segment) => segment !== '');
  // A slash at the end asks for a directory, as a dot does.
  return path.endsWith('/') ? [...segments, '.'] : segments;
}

const maxKept = 8192;
const ofHosts = new WeakMap<FileHost, ParsedFiles>();

/** What files of one host were when they were last read. A file that changed has another identity and is read again. */
export class ParsedFiles {
  readonly #host: FileHost;
  readonly #formats = new Map<string, ProgramFormat>();
  #loaderCache: { readonly identity: string; readonly cache: LoaderCache } | null = null;

  constructor(host: FileHost) {
    this.#host = host;
  }

  /** Returns null when there is no regular file that can be opened. */
  format(path: string): ProgramFormat | null {
    const file = this.#host.open(path);
    if (file === null) return null;
    try {
      const known = this.#formats.get(file.identity);
      if (known !== undefined) return known;
      const format = parseProgram(file);
      if (this.#formats.size >= maxKept) this.#formats.clear();
      this.#formats.set(file.identity, format);
      return format;
    } finally {
      file.close();
    }
  }

  loaderCache(): LoaderCache {
    const file = this.#host.open(loaderCachePath);
    if (file === null) return new Map();
    try {
      if (this.#loaderCache?.identity !== file.identity) {
        this.#loaderCache = { identity: file.identity, cache: readLoaderCache(file) };
      }
      return this.#loaderCache.cache;
    } finally {
      file.close();
    }
  }
}

function parsedFilesOf(host: FileHost): ParsedFiles {
  const known = ofHosts.get(host);
  if (known !== undefined) return known;
  const parsed = new ParsedFiles(host);
  ofHosts.set(host, parsed);
  return parsed;
}
