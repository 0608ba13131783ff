import { isErrno } from '@svc/kit/diagnostics/system-reason.ts';
import { O_PATH } from '@svc/kit/files/open-without-links.ts';
import { closeSync, constants, fstatSync, openSync } from 'node:fs';

import { refuse } from './error-code.ts';
import type { Child, FileAccess, HeldDirectory } from './held-directory.ts';

const { O_CREAT, O_DIRECTORY, O_EXCL, O_NOFOLLOW, O_NONBLOCK, O_RDONLY, O_RDWR, O_TRUNC, O_WRONLY } = constants;

const newFileMode = 0o666;
/** How often a file may appear and vanish between two looks at it before that is an answer. */
const openAttempts = 16;

/** A directory held by its descriptor: `/proc/self/fd/<n>/<name>` is one step from it, whatever became of its path. */
export class DescriptorDirectory implements HeldDirectory {
  readonly #descriptor: number;

  private constructor(descriptor: number) {
    this.#descriptor = descriptor;
  }

  /** Takes over a descriptor of a directory. */
  static of(descriptor: number): DescriptorDirectory {
    return new DescriptorDirectory(descriptor);
  }

  /** The operator's own path, so links in it are followed. */
  static open(hostPath: string): DescriptorDirectory {
    return new DescriptorDirectory(openSync(hostPath, O_PATH | O_DIRECTORY));
  }

  enter(name: string): Child {
    const descriptor = openSync(this.entry(name), O_PATH | O_NOFOLLOW);
    const stat = fstatSync(descriptor);
    if (stat.isDirectory()) return { kind: 'directory', directory: new DescriptorDirectory(descriptor) };
    closeSync(descriptor);
    return { kind: stat.isSymbolicLink() ? 'link' : 'other' };
  }

  again(): DescriptorDirectory {
    return DescriptorDirectory.open(this.self());
  }

  entry(name: string): string {
    return `/proc/self/fd/${this.#descriptor}/${name}`;
  }

  self(): string {
    return `/proc/self/fd/${this.#descriptor}/.`;
  }

  openFile(name: string, access: FileAccess): number {
    const mode = accessMode(access);
    for (let attempt = 0; attempt < openAttempts; attempt += 1) {
      const descriptor = this.#openExisting(name, access, mode) ?? this.#createNew(name, access, mode);
      if (descriptor !== null) return descriptor;
    }
    return refuse('busy');
  }

  /** The file is looked at through a descriptor first and opened through that: a device is never opened to find out. */
  #openExisting(name: string, access: FileAccess, mode: number): number | null {
    if (access.create && access.exclusive) return null;
    const place = openOrNull(this.entry(name), O_PATH | O_NOFOLLOW, access.create ? 'ENOENT' : null);
    if (place === null) return null;
    try {
      const stat = fstatSync(place);
      if (stat.isSymbolicLink()) return refuse('loop');
      if (stat.isDirectory()) return refuse('is-directory');
      if (!stat.isFile()) return refuse('not-permitted');
      return openSync(`/proc/self/fd/${place}`, mode | O_NONBLOCK | (access.truncate ? O_TRUNC : 0));
    } finally {
      closeSync(place);
    }
  }

  #createNew(name: string, access: FileAccess, mode: number): number | null {
    const flags = mode | O_CREAT | O_EXCL | O_NOFOLLOW;
    return openOrNull(this.entry(name), flags, access.exclusive ? null : 'EEXIST');
  }

  close(): void {
    closeSync(this.#descriptor);
  }
}

export function accessMode({ read, write }: FileAccess): number {
  if (!write) return O_RDONLY;
  return read ? O_RDWR : O_WRONLY;
}

function openOrNull(path: string, flags: number, tolerated: string | null): number | null {
  try {
    return openSync(path, flags, newFileMode);
  } catch (error) {
    if (tolerated !== null && isErrno(error, tolerated)) return null;
    throw error;
  }
}
