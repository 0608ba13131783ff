/** Lists the exported files of a session. */

import { realpathSync, type Dirent } from 'node:fs';
import { opendir } from 'node:fs/promises';

import { FewAtOnce } from '@svc/kit/few-at-once.ts';
import { yieldToLoop } from '@svc/kit/yield-to-loop.ts';
import { isErrno } from '@svc/kit/diagnostics/system-reason.ts';
import { release } from '@svc/kit/files/read-up-to.ts';
import { pathBeneath } from '@svc/kit/files/resolve-beneath.ts';
import type { ListedFile } from '@svc/protocol/resource-files.ts';
import { openFile, type OpenedFile } from './export-root.ts';
import { readAtOnce, smallFileBytes } from './file-content.ts';
import { demandAwaited } from './hashed-content.ts';
import { hashFile } from './large-content.ts';

/** What is done between two turns of the event loop. An open counts like the hashing of so many bytes. */
const turnBytes = 512 * 1024;
const openCostBytes = 4 * 1024;

/** Directory entries fetched at a time. */
const directoryBatch = 1024;

/** Larger files hashed at a time, in all listings of all sessions: the thread that hashes is one. */
const hashing = new FewAtOnce(2);

interface ListingScope {
  /** Canonical. */
  readonly root: string;
  /** Returns whether a path is hidden. A hidden file is not listed, and a hidden directory not entered. */
  readonly isHidden: (real: string) => boolean;
  readonly isAwaited: () => boolean;
}

/**
 * Every regular file beneath the root, in ascending order of its path. Links are neither listed nor entered, and what cannot be opened or
 * goes away meanwhile is left out. However many files there are, other work gets its turn, and however many listings go on, two larger files
 * are hashed at a time. `isAwaited` is asked for every file and every slice of a larger one; the listing fails with `UnfinishedRead` when it says no.
 */
export async function* listFiles({ root, isHidden, isAwaited }: ListingScope): AsyncGenerator<ListedFile> {
  let spent = 0;
  for await (const path of walk(root, '', isHidden)) {
    demandAwaited(isAwaited);
    const file = openListed(root, path);
    if (file === undefined) continue;
    spent += openCostBytes + Math.min(file.size, smallFileBytes);
    const { sha256, length } = await hashListed(file, isAwaited);
    yield { path, size_bytes: length, mtime_ms: file.mtimeMs, sha256 };
    if (spent < turnBytes) continue;
    spent = 0;
    await yieldToLoop();
  }
}

/**
 * Paths of regular files, depth first. A directory is sorted among its siblings as its name with a slash, which gives
 * the order of whole paths: `a-b` before `a/b`, though `a` is before `a-b`.
 */
async function* walk(root: string, below: string, isHidden: ListingScope['isHidden']): AsyncGenerator<string> {
  const directory = below === '' ? root : pathBeneath(root, below);
  const names = await sortNames(await namesIn(directory));
  const prefix = below === '' ? '' : `${below}/`;
  for (const name of names) {
    const path = prefix + (name.endsWith('/') ? name.slice(0, -1) : name);
    if (isHidden(pathBeneath(root, path))) continue;
    if (name.endsWith('/')) yield* walk(root, path, isHidden);
    else yield path;
  }
}

/** Names of the files, and of the directories with a slash after them. */
async function namesIn(directory: string): Promise<string[]> {
  const names: string[] = [];
  try {
    // Swapped for a link, it would lead the walk away; what is found there would not be listed, but it might never end.
    if (realpathSync.native(directory) !== directory) return [];
    for await (const entry of await opendir(directory, { bufferSize: directoryBatch })) {
      const name = nameOf(entry);
      if (name !== undefined) names.push(name);
    }
  } catch (error) {
    passOver(error);
  }
  return names;
}

function nameOf(entry: Dirent): string | undefined {
  if (entry.isDirectory()) return `${entry.name}/`;
  return entry.isFile() ? entry.name : undefined;
}

function openListed(root: string, path: string): OpenedFile | undefined {
  try {
    const opening = openFile(root, pathBeneath(root, path));
    return opening !== 'changed' && opening.kind === 'opened' ? opening.file : undefined;
  } catch (error) {
    passOver(error);
    return undefined;
  }
}

/** Gone meanwhile, or closed to us. Any other error, such as a lack of descriptors, would make the listing untrue. */
function passOver(error: unknown): void {
  if (!isErrno(error, ...passedOver)) throw error;
}

const passedOver = ['ENOENT', 'ENOTDIR', 'ENAMETOOLONG', 'ENXIO', 'EACCES', 'EPERM', 'ELOOP'];

async function hashListed(file: OpenedFile, isAwaited: () => boolean): Promise<{ sha256: string; length: number }> {
  if (file.size <= smallFileBytes) return readAtOnce(file);
  try {
    return await hashing.run(() => hashFile(file, { isAwaited }));
  } finally {
    release(file.descriptor);
  }
}

/** Sorted at once; also merged between two turns of the event loop. */
const sliceLength = 8192;

/** The names in ascending order of their UTF-16 code units. However many there are, other work gets its turn in between. */
export async function sortNames(names: readonly string[]): Promise<string[]> {
  let runs: string[][] = [];
  for (let from = 0; from < names.length; from += sliceLength) {
    runs.push(names.slice(from, from + sliceLength).sort());
    if (names.length > sliceLength) await yieldToLoop();
  }
  while (runs.length > 1) {
    const merged: string[][] = [];
    for (let index = 0; index < runs.length; index += 2) {
      merged.push(await merge(runs[index] ?? [], runs[index + 1] ?? []));
    }
    runs = merged;
  }
  return runs[0] ?? [];
}

async function merge(left: readonly string[], right: readonly string[]): Promise<string[]> {
  const merged: string[] = [];
  let fromLeft = 0;
  let fromRight = 0;
  while (fromLeft < left.length || fromRight < right.length) {
    const one = left[fromLeft];
    const other = right[fromRight];
    if (other === undefined || (one !== undefined && one <= other)) {
      merged.push(one ?? '');
      fromLeft += 1;
    } else {
      merged.push(other);
      fromRight += 1;
    }
    if (merged.length % sliceLength === 0) await yieldToLoop();
  }
  return merged;
}
