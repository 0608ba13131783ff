/** Finds which places of a composed root are mounted: the outermost of them, and the directories on the way to what is kept. */

import { isBeneath } from '@svc/kit/files/resolve-beneath.ts';
import { waysBetween } from '../own-places.ts';

/**
 * The directories on the way from the places that may be written to what is kept in them, the highest first. As mount points they cannot be renamed:
 * one of them moved aside, another could be made in its place without what is kept.
 */
export function waysTo(kept: readonly string[], places: readonly string[]): readonly string[] {
  const ways = kept.flatMap((path) =>
    places.filter((each) => isBeneath(each, path)).flatMap((place) => waysBetween(place, path)),
  );
  return [...new Set(ways)].sort();
}

/** Sorted, without what lies inside another of them. */
export function outermost(paths: readonly string[]): readonly string[] {
  const kept = new Set<string>();
  for (const path of [...new Set(paths)].sort()) if (!isBelowAny(path, kept)) kept.add(path);
  return [...kept];
}

/** Whether a directory above a canonical path is one of these: a plan has hundreds, and each is asked about. */
export function isBelowAny(path: string, directories: ReadonlySet<string>): boolean {
  let end = path.lastIndexOf('/');
  for (; end > 0; end = path.lastIndexOf('/', end - 1)) if (directories.has(path.slice(0, end))) return true;
  return path !== '/' && directories.has('/');
}
