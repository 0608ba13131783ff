/** Compares a directory with the archive that it was unpacked from, before anything in there is believed. */

import { closeSync, fstatSync, readdirSync } from 'node:fs';
import { basename, dirname } from 'node:path';

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { quoted } from '@svc/kit/diagnostics/printable.ts';
import { HeldDirectory } from '@svc/kit/files/held-directory.ts';
import { ioFault } from '@svc/kit/files/io-fault.ts';
import { fill } from '@svc/kit/files/read-up-to.ts';
import { isTemporaryName } from '@svc/kit/files/temporary-name.ts';
import type { Archive } from './archive.ts';

/**
 * What a run leaves beside the files of a capsule. None of it stands for a file of the archive: `svc.lock` can only narrow what is used, and what the
 * store in `.svc` has is held to the trust policy by itself, as in every project. `.env` and `.svc/config.yaml` of this directory are never read.
 */
const besideIt: ReadonlySet<string> = new Set(['svc.lock', '.svc.lock.guard', '.svc']);

/**
 * Throws `E-ART-017` unless a directory holds the files of the archive, byte for byte, and no other file that a run could read. Whatever brought
 * the directory may have written into it, and a power cut may have emptied it. Follows no link from its own name on. `E-IO-001` when the system refuses.
 */
export async function checkUnpacked(archive: Archive, directory: string): Promise<void> {
  let difference: string | null;
  try {
    difference = await new Comparison(archive).with(directory);
  } catch (error) {
    throw ioFault(error, `cannot compare ${directory} with ${archive.where}`);
  }
  if (difference === null) return;
  throw new Diagnostic('E-ART-017', `${directory} is not what ${archive.where} unpacks to: ${difference}`, {
    hint: 'find out who wrote there; then move this directory away and run the command again, which unpacks it anew',
  });
}

class Comparison {
  readonly #archive: Archive;
  readonly #missing: Set<string>;
  readonly #directories: ReadonlySet<string>;

  constructor(archive: Archive) {
    this.#archive = archive;
    this.#missing = new Set(archive.files);
    const named = [...archive.files, ...archive.directories];
    this.#directories = new Set([...archive.directories, ...named.flatMap(directoriesOf)]);
  }

  /** The first difference, as a clause; null without one. */
  async with(directory: string): Promise<string | null> {
    const parent = HeldDirectory.at(dirname(directory));
    try {
      const child = parent.child(basename(directory));
      if (child.kind !== 'directory') return 'it is no directory of its own';
      const difference = await this.#below(child.directory, '');
      const [missing] = this.#missing;
      return difference ?? (missing === undefined ? null : `${quoted(missing)} is missing`);
    } finally {
      parent.close();
    }
  }

  /** Closes the directory. */
  async #below(held: HeldDirectory, prefix: string): Promise<string | null> {
    try {
      for (const name of readdirSync(held.path)) {
        const difference = await this.#at(held, name, `${prefix}${name}`);
        if (difference !== null) return difference;
      }
      return null;
    } finally {
      held.close();
    }
  }

  async #at(held: HeldDirectory, name: string, path: string): Promise<string | null> {
    if (this.#archive.has(path)) return await this.#fileAt(held, name, path);
    if (!this.#directories.has(path)) return isBeside(path) ? null : `the archive does not hold ${quoted(path)}`;
    const child = held.child(name);
    if (child.kind !== 'directory') return `${quoted(path)} is no directory`;
    return await this.#below(child.directory, `${path}/`);
  }

  async #fileAt(held: HeldDirectory, name: string, path: string): Promise<string | null> {
    const opened = held.openFile(name);
    if (opened.kind !== 'file') return `${quoted(path)} is no regular file`;
    try {
      this.#missing.delete(path);
      return (await this.#isSame(opened.fd, path)) ? null : `${quoted(path)} has other bytes`;
    } finally {
      closeSync(opened.fd);
    }
  }

  async #isSame(fd: number, path: string): Promise<boolean> {
    let position = 0;
    for await (const piece of this.#archive.pieces(path)) {
      const found = Buffer.allocUnsafe(piece.length);
      if ((await fill(fd, found, position)) < piece.length || !found.equals(piece)) return false;
      position += piece.length;
    }
    return fstatSync(fd).size === position;
  }
}

/** Whether a name that the archive does not hold may be there all the same. */
function isBeside(path: string): boolean {
  const [first = ''] = path.split('/');
  return besideIt.has(first) || isTemporaryName(first);
}

/** The directories that a name lies in. */
function directoriesOf(name: string): readonly string[] {
  const parts = name.split('/').slice(0, -1);
  return parts.map((_, index) => parts.slice(0, index + 1).join('/'));
}
