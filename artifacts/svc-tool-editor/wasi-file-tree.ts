/** Reaches the files of the editor through the interfaces that a component has. */

import { getDirectories } from 'wasi:filesystem/preopens@0.2.12';
import type { Descriptor, DescriptorType } from 'wasi:filesystem/types@0.2.12';

import { payloadOf } from '@svc/guest/wit-error.ts';
import { faultOf } from './file-error.ts';
import { FileFault, joined, parentOf, shown, type EntryKind, type FileTree, type TreeEntry } from './file-tree.ts';

const follow = { symlinkFollow: true };
const stay = { symlinkFollow: false };
const maxTemporaryNames = 16;

interface Place {
  readonly root: Descriptor;
  /** Relative to the root; `''` for the root itself. */
  readonly path: string;
}

interface Preopen {
  readonly root: Descriptor;
  /** Where the directory is in the tree, `''` for the whole of it. */
  readonly at: string;
}

/** The preopened directories of a guest as one tree, through `wasi:filesystem`. What they do not reach is refused by the host. */
export class WasiFileTree implements FileTree {
  #preopens: readonly Preopen[] | null = null;

  stat(path: string): { readonly kind: EntryKind; readonly size: number } | null {
    const place = this.#locate(path);
    if (place.path === '' || this.#below(path).length > 0) return { kind: 'directory', size: 0 };
    try {
      const { type, size } = place.root.statAt(stay, place.path);
      return { kind: kindOf(type), size };
    } catch (error) {
      if (payloadOf(error) === 'no-entry') return null;
      throw faultOf(error, path);
    }
  }

  read(path: string, maxBytes: number): Uint8Array {
    const place = this.#locate(path);
    return attempted(path, () => {
      using file = place.root.openAt(follow, place.path, {}, { read: true });
      return readUpTo(file, maxBytes);
    });
  }

  list(path: string, maxEntries: number): readonly TreeEntry[] {
    const { root, path: inside } = this.#locate(path);
    const given = this.#below(path);
    const found = attempted(path, () => {
      if (inside === '') return readEntries(root, path, maxEntries);
      if (given.length > 0 && !isReachable(root, inside)) return [];
      using directory = root.openAt(follow, inside, { directory: true }, { read: true });
      return readEntries(directory, path, maxEntries);
    });
    const own = found.filter(({ name }) => !given.includes(name));
    return [...own, ...given.map((name) => ({ name, kind: 'directory' as const }))];
  }

  makeDirectory(path: string): void {
    if (path === '' || this.#locate(path).path === '') return;
    this.makeDirectory(parentOf(path));
    const place = this.#locate(path);
    try {
      place.root.createDirectoryAt(place.path);
    } catch (error) {
      if (payloadOf(error) !== 'exist') throw faultOf(error, path);
    }
  }

  replace(path: string, bytes: Uint8Array): void {
    const { root, path: inside } = this.#locate(path);
    attempted(path, () => {
      const temporary = writeTemporary(root, parentOf(inside), bytes);
      try {
        root.renameAt(temporary, root, inside);
      } catch (error) {
        root.unlinkFileAt(temporary);
        throw error;
      }
    });
  }

  #roots(): readonly Preopen[] {
    this.#preopens ??= getDirectories()
      .map(([root, guestPath]) => ({ root, at: guestPath.replace(/^\.$|^(?:\.?\/)+|\/+$/g, '') }))
      .sort((left, right) => right.at.length - left.at.length);
    return this.#preopens;
  }

  /** The names in a directory that lead to preopened ones, whatever lies there itself. */
  #below(path: string): readonly string[] {
    const start = path === '' ? '' : `${path}/`;
    const inside = this.#roots().flatMap(({ at }) =>
      at !== '' && at.startsWith(start) ? [at.slice(start.length)] : [],
    );
    return [...new Set(inside.map((rest) => rest.split('/')[0] ?? rest))];
  }

  #locate(path: string): Place {
    const preopen = this.#roots().find(({ at }) => at === '' || path === at || path.startsWith(`${at}/`));
    if (preopen !== undefined) {
      const { root, at } = preopen;
      return { root, path: at === '' ? path : path.slice(at.length + 1) };
    }
    const reachable = this.#roots().map(({ at }) => at);
    throw new FileFault(
      reachable.length === 0
        ? 'this capsule gives the editor no files'
        : `${shown(path)} is outside what the editor may touch: ${reachable.join(', ')}`,
    );
  }
}

function attempted<T>(path: string, step: () => T): T {
  try {
    return step();
  } catch (error) {
    throw faultOf(error, path);
  }
}

/** A directory on the way to a preopened one may itself be missing or masked. */
function isReachable(root: Descriptor, path: string): boolean {
  try {
    root.statAt(stay, path);
    return true;
  } catch (error) {
    if (['no-entry', 'access'].includes(String(payloadOf(error)))) return false;
    throw error;
  }
}

function kindOf(type: DescriptorType): EntryKind {
  switch (type) {
    case 'regular-file':
      return 'file';
    case 'directory':
      return 'directory';
    case 'symbolic-link':
      return 'link';
    default:
      return 'other';
  }
}

function readUpTo(file: Descriptor, maxBytes: number): Uint8Array {
  const pieces: Uint8Array[] = [];
  let size = 0;
  for (let ended = false; !ended && size < maxBytes;) {
    const [bytes, end] = file.read(maxBytes - size, size);
    pieces.push(bytes);
    size += bytes.length;
    ended = end || bytes.length === 0;
  }
  const [only] = pieces;
  if (pieces.length === 1 && only !== undefined) return only;
  const whole = new Uint8Array(size);
  let at = 0;
  for (const piece of pieces) {
    whole.set(piece, at);
    at += piece.length;
  }
  return whole;
}

function readEntries(directory: Descriptor, path: string, maxEntries: number): readonly TreeEntry[] {
  using stream = directory.readDirectory();
  const entries: TreeEntry[] = [];
  for (let entry = stream.readDirectoryEntry(); entry !== null; entry = stream.readDirectoryEntry()) {
    if (entries.length === maxEntries) throw new FileFault(`${shown(path)} holds more than ${maxEntries} entries`);
    entries.push({ name: entry.name, kind: kindOf(entry.type) });
  }
  return entries;
}

/** Writes a new file beside the one it is to replace and returns its path; nothing is left behind when that fails. */
function writeTemporary(root: Descriptor, directory: string, bytes: Uint8Array): string {
  const { file, path } = createTemporary(root, directory);
  try {
    for (let written = 0; written < bytes.length;) {
      const taken = file.write(bytes.subarray(written), written);
      if (taken === 0) throw new FileFault('the file cannot be written: nothing more is taken');
      written += taken;
    }
  } catch (error) {
    file[Symbol.dispose]();
    root.unlinkFileAt(path);
    throw error;
  }
  file[Symbol.dispose]();
  return path;
}

function createTemporary(root: Descriptor, directory: string): { readonly file: Descriptor; readonly path: string } {
  for (let number = 1; ; number += 1) {
    const path = joined(directory, `.svc-edit-${Date.now().toString(36)}-${number}`);
    try {
      return { file: root.openAt(stay, path, { create: true, exclusive: true }, { write: true }), path };
    } catch (error) {
      if (payloadOf(error) !== 'exist' || number === maxTemporaryNames) throw error;
    }
  }
}
