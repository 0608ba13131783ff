/** Collects the files of a command, and follows paths as the kernel does. */

import type { ProgramFormat } from './elf.ts';
import type { FileHost, FileEntry } from './file-host.ts';
import { type ParsedFiles, parsedFilesOf, type LoaderCache } from './parsed-files.ts';

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

/** A symbolic link that has to stand where it stands for a path to lead anywhere. */
export interface SymbolicLink {
  /** Without links in its directory. */
  readonly path: string;
  /** The text of the link. */
  readonly target: string;
}

/** How a path leads to what it names. */
export interface PathWalk {
  /** What the path names, without links. */
  readonly path: string;
  readonly kind: FileEntry['kind'];
  readonly executable: boolean;
  /** Every link on the way, in order. */
  readonly links: readonly SymbolicLink[];
  /** The names of the thing itself: each link that stood for it, then its own path. */
  readonly names: readonly string[];
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

  /** Null when an absolute path leads nowhere: something missing, a file used as a directory, links in a circle. */
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
