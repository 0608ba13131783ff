import type { FileEntry, FileHost } from './file-host.ts';

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
