/** Lists the exported files that have changed since a moment, so that a task can say what it has made. */

import { type Dirent, lstatSync, opendirSync } from 'node:fs';

import { HeldDirectory } from '@svc/kit/files/held-directory.ts';
import { pathBeneath } from '@svc/kit/files/resolve-beneath.ts';
import { unlessRefused } from '@svc/kit/files/unless-refused.ts';
import type { ExportRoot } from './export-root.ts';

/** Bounds a search that yields to nothing else. */
const maxLookedAt = 2000;
const maxNamed = 100;
const deepest = 16;
/** File times come from the last tick of the kernel, which may be a little before the time of the program. */
const tickMs = 10;

/**
 * Paths below the root in ascending order, of at most 100 files; in a root with more than 2,000 entries it skips some. It neither names nor follows
 * links, and passes over what it cannot read.
 */
export function changedFiles(root: ExportRoot, sinceMs: number): readonly string[] {
  const resolved = root.resolve();
  if (resolved.kind !== 'directory') return [];
  const search = new Search(sinceMs - tickMs);
  const base = unlessRefused(() => HeldDirectory.open(resolved.real), null);
  if (base === null) return [];
  try {
    search.walk(base, '', 0);
  } finally {
    base.close();
  }
  const shown = search.found.filter((path) => !root.isHidden(pathBeneath(resolved.real, path)));
  return shown.sort().slice(0, maxNamed);
}

class Search {
  readonly found: string[] = [];
  readonly #sinceMs: number;
  #lookedAt = 0;

  constructor(sinceMs: number) {
    this.#sinceMs = sinceMs;
  }

  walk(directory: HeldDirectory, prefix: string, depth: number): void {
    // Reads all of them before it enters one: a level then needs no second descriptor.
    for (const entry of Array.from(this.#entries(directory))) {
      // Nobody can ask for a name that is not UTF-8.
      if (!entry.name.includes('\ufffd')) this.#look(directory, entry, { prefix, depth });
    }
  }

  /** As many as the search may still visit: a directory may hold millions. It passes over what it cannot read. */
  *#entries(directory: HeldDirectory): Generator<Dirent> {
    const listing = unlessRefused(() => opendirSync(directory.path), null);
    if (listing === null) return;
    try {
      while (this.#lookedAt < maxLookedAt) {
        const entry = unlessRefused(() => listing.readSync(), null);
        if (entry === null) return;
        this.#lookedAt += 1;
        yield entry;
      }
    } finally {
      listing.closeSync();
    }
  }

  #look(
    directory: HeldDirectory,
    entry: Dirent,
    { prefix, depth }: { readonly prefix: string; readonly depth: number },
  ): void {
    const path = `${prefix}${entry.name}`;
    if (entry.isFile()) {
      const stat = unlessRefused(() => lstatSync(directory.entry(entry.name)), null);
      if (stat?.isFile() === true && stat.mtimeMs >= this.#sinceMs) this.found.push(path);
      return;
    }
    if (!entry.isDirectory() || depth >= deepest) return;
    const inner = unlessRefused(() => directory.enter(entry.name), null);
    if (inner === null) return;
    try {
      this.walk(inner, `${path}/`, depth + 1);
    } finally {
      inner.close();
    }
  }
}
