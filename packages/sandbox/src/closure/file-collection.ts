import type { ProgramFormat } from './elf.ts';
import type { FileHost } from './file-host.ts';
import type { LoaderCache } from './ld-cache.ts';
import { type ParsedFiles, parsedFilesOf } from './parsed-files.ts';
import { type PathWalk, PathWalker, type SymbolicLink } from './path-walk.ts';

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
