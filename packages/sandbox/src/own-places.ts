/** Finds the parts of this program that lie where a contained command may write: an uncontained process loads and starts them later. */

import { lstatSync } from 'node:fs';
import { dirname, relative } from 'node:path';

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { isBeneath } from '@svc/kit/files/resolve-beneath.ts';
import type { KeptPlace } from './launch/process-grants.ts';

/** A file or a folder that an uncontained process of this program loads or starts later (`ownPlaces`). */
export interface OwnPlace {
  /** Absolute, without links on the way to it; it may be a link, or not be there yet. */
  readonly path: string;
  /** A clause behind its path, for a person: `which LD_LIBRARY_PATH names`. Is null for the package and for `node`. */
  readonly what: string | null;
}

/** Places of `own` in or at one of `writes`. */
export function ownPlacesIn(own: readonly OwnPlace[], writes: readonly string[]): readonly OwnPlace[] {
  return own.filter(({ path }) => writes.some((place) => isBeneath(place, path)));
}

/** Why mounts cannot keep one of these places, as the end of a sentence that begins with it; null where they can keep all. */
export function obstacleToKeeping(
  found: readonly OwnPlace[],
): { readonly place: OwnPlace; readonly why: string } | null {
  for (const place of found) {
    const stat = lstatSync(place.path, { throwIfNoEntry: false });
    if (stat === undefined) return { place, why: 'is not there, so that another could be made in its place' };
    if (stat.isSymbolicLink()) return { place, why: 'is a link, which could be made to lead elsewhere' };
  }
  return null;
}

/** The first of `writes` that lies inside one of the program's own places, with that place as `holder`; null when none does. */
export function writeInside(
  own: readonly OwnPlace[],
  writes: readonly string[],
): { readonly place: string; readonly holder: OwnPlace } | null {
  for (const holder of own) {
    const place = writes.find((path) => isBeneath(holder.path, path));
    if (place !== undefined) return { place, holder };
  }
  return null;
}

/**
 * What keeps those of `own` as they are that lie below a folder: each, read only, and the directories on the way there, which are mounted
 * once more: one that was moved aside could be made anew with something else in it.
 */
export function keptOwn(folder: string, own: readonly OwnPlace[]): readonly KeptPlace[] {
  return own.flatMap(({ path }) => [...keptWays(folder, path), { path: relative(folder, path), writable: false }]);
}

/** The directories between a folder and what lies in it, the highest first, without either. */
export function waysBetween(folder: string, path: string): readonly string[] {
  const ways: string[] = [];
  for (let way = dirname(path); way !== folder && isBeneath(folder, way); way = dirname(way)) ways.unshift(way);
  return ways;
}

/** The same as mounts keep them: nothing on the way can be moved, and all else there stays as it was. */
export function keptWays(folder: string, path: string): readonly KeptPlace[] {
  return waysBetween(folder, path).map((way) => ({ path: relative(folder, way), writable: true }));
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

/** Next steps after going to the folder, naming it with `--workdir` or opening it in an editor. */
export const elsewhere = 'give the agent a folder that does not hold it';
export const whyClass = 'svc doctor says what the class depends on';

/** As mounts keep it. `E-CAP-025` where nothing can be mounted, and for a folder that is a part of the program. */
export function ownPartsOf(path: string, own: readonly OwnPlace[], splits: boolean): readonly KeptPlace[] {
  const inside = writeInside(own, [path]);
  if (inside !== null) throw openProgram(`${path} is or lies in ${named(inside.holder)}`, elsewhere);
  const found = ownPlacesIn(own, [path]);
  const [first] = found;
  if (first !== undefined && splits) {
    throw openProgram(
      `${named(first)} lies in ${path}, where it is only kept from a task that may write beside it in class sealed`,
      `${elsewhere}, or install svc elsewhere; ${whyClass}`,
    );
  }
  const obstacle = obstacleToKeeping(found);
  if (obstacle !== null) {
    const { place, why } = obstacle;
    throw openProgram(`${named(place)} lies in ${path}, and ${why}`, elsewhere);
  }
  return keptOwn(path, found);
}

function named({ path, what }: OwnPlace): string {
  return what === null ? path : `${path} (${what})`;
}

/** `E-CAP-025`. */
export function openProgram(problem: string, hint: string): Diagnostic {
  return new Diagnostic('E-CAP-025', `svc itself cannot be kept from this task: ${problem}`, { hint });
}
