/** Lists the exported files that have changed since a moment, so that a task can say what it has made. */

import { type Dirent, lstatSync, readdirSync } from 'node:fs';

import { isErrno } from '@svc/kit/diagnostics/system-reason.ts';
import { HeldDirectory } from '@svc/kit/files/held-directory.ts';
import type { ExportRoot } from './export-root.ts';

/** It is looked for while nothing else has a turn. */
const mostLookedAt = 2000;
const mostNamed = 100;
const deepest = 16;
/** Files have the time of the last tick of the system, which may be a little before that of the program. */
const tickMs = 10;

/**
 * Paths below the root in ascending order, of at most 100 files; of a root with more than 2,000 entries not all are looked at. Links are neither named
 * nor followed, and what cannot be looked at is passed over.
 */
export function changedFiles(root: ExportRoot, sinceMs: number): readonly string[] {
  const resolved = root.resolve();
  if (resolved.kind !== 'directory') return [];
  const search = new Search(sinceMs - tickMs);
  const base = unlessGone(() => HeldDirectory.open(resolved.real));
  if (base === null) return [];
  try {
    search.walk(base, '', 0);
  } finally {
    base.close();
  }
  return search.found.sort().slice(0, mostNamed);
}

class Search {
  readonly found: string[] = [];
  readonly #sinceMs: number;
  #lookedAt = 0;

  constructor(sinceMs: number) {
    this.#sinceMs = sinceMs;
  }

  walk(directory: HeldDirectory, prefix: string, depth: number): void {
    const entries = unlessGone(() => readdirSync(directory.path, { withFileTypes: true })) ?? [];
    for (const entry of entries) {
      this.#lookedAt += 1;
      if (this.#lookedAt > mostLookedAt) return;
      // A name that is no UTF-8 cannot be asked for.
      if (!entry.name.includes('\ufffd')) this.#look(directory, entry, { prefix, depth });
    }
  }

  #look(
    directory: HeldDirectory,
    entry: Dirent,
    { prefix, depth }: { readonly prefix: string; readonly depth: number },
  ): void {
    const path = `${prefix}${entry.name}`;
    if (entry.isFile()) {
      const stat = unlessGone(() => lstatSync(directory.entry(entry.name)));
      if (stat?.isFile() === true && stat.mtimeMs >= this.#sinceMs) this.found.push(path);
      return;
    }
    if (!entry.isDirectory() || depth >= deepest) return;
    const inner = unlessGone(() => directory.enter(entry.name));
    if (inner === null) return;
    try {
      this.walk(inner, `${path}/`, depth + 1);
    } finally {
      inner.close();
    }
  }
}

/** Null where something went away, became a link or is closed to us meanwhile. */
function unlessGone<Value>(look: () => Value): Value | null {
  try {
    return look();
  } catch (error) {
    if (isErrno(error, 'ENOENT', 'ENOTDIR', 'ELOOP', 'EACCES', 'EPERM', 'ENAMETOOLONG')) return null;
    throw error;
  }
}
