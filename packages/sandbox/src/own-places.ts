/** Finds the parts of this program that lie where a contained command may write: an uncontained process loads and starts them later. */

import { realpathSync } from 'node:fs';
import { dirname, relative } from 'node:path';

import { isBeneath } from '@svc/kit/files/resolve-beneath.ts';
import type { KeptPlace } from './launch/process-grants.ts';

/** What an uncontained process loads or starts later: the folder of the installed package, and the `node` that runs it. Links resolved. */
export function ownPlaces(packageRoot: string, node: string): readonly string[] {
  return [packageRoot, node].map((path) => realpathSync(path));
}

/** Those of `own` that lie in one of `writes`, or are one of them. */
export function ownPlacesIn(own: readonly string[], writes: readonly string[]): readonly string[] {
  return own.filter((path) => writes.some((place) => isBeneath(place, path)));
}

/** The first of `writes` that lies inside one of the program's own places, with that place as `holder`; null when none does. */
export function writeInside(
  own: readonly string[],
  writes: readonly string[],
): { readonly place: string; readonly holder: string } | null {
  for (const holder of own) {
    const place = writes.find((path) => isBeneath(holder, path));
    if (place !== undefined) return { place, holder };
  }
  return null;
}

/**
 * What keeps those of `own` as they are that lie below a folder: each, read only, and the directories on the way there, which are mounted
 * once more: one that was moved aside could be made anew with something else in it.
 */
export function keptOwn(folder: string, own: readonly string[]): readonly KeptPlace[] {
  return own.flatMap((path) => [
    ...waysBetween(folder, path).map((way): KeptPlace => ({ path: relative(folder, way), writable: true })),
    { path: relative(folder, path), writable: false },
  ]);
}

/** The directories between a folder and what lies in it, the highest first, without either. */
export function waysBetween(folder: string, path: string): readonly string[] {
  const ways: string[] = [];
  for (let way = dirname(path); way !== folder && isBeneath(folder, way); way = dirname(way)) ways.unshift(way);
  return ways;
}

/** Kept places in the order in which they are mounted, each once and as its strictest, without what lies in one that is read only. */
export function mergedPlaces(places: readonly KeptPlace[]): readonly KeptPlace[] {
  const merged = new Map<string, boolean>();
  for (const { path, writable } of places) merged.set(path, writable && (merged.get(path) ?? true));
  const closed = [...merged].filter(([, writable]) => !writable).map(([path]) => path);
  return [...merged]
    .filter(([path]) => !closed.some((other) => path.startsWith(`${other}/`)))
    .map(([path, writable]) => ({ path, writable }))
    .sort((one, other) => (one.path < other.path ? -1 : 1));
}
