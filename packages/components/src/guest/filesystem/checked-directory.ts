import { closeSync, constants, fstatSync, lstatSync, openSync, realpathSync } from 'node:fs';
import { join } from 'node:path';

import { accessMode } from './descriptor-directory.ts';
import { refuse } from './error-code.ts';
import type { Child, FileAccess, HeldDirectory } from './held-directory.ts';

const { O_CREAT, O_EXCL, O_NOFOLLOW, O_NONBLOCK, O_TRUNC } = constants;
const newFileMode = 0o666;

/** A directory held by its real path, which is checked again before each use: for hosts without /proc. */
export class CheckedDirectory implements HeldDirectory {
  readonly #realPath: string;

  private constructor(realPath: string) {
    this.#realPath = realPath;
  }

  static open(hostPath: string): CheckedDirectory {
    return new CheckedDirectory(realpathSync(hostPath));
  }

  enter(name: string): Child {
    const path = this.entry(name);
    const stat = lstatSync(path);
    if (stat.isDirectory()) return { kind: 'directory', directory: new CheckedDirectory(path) };
    return { kind: stat.isSymbolicLink() ? 'link' : 'other' };
  }

  again(): CheckedDirectory {
    return new CheckedDirectory(this.#realPath);
  }

  entry(name: string): string {
    return join(this.self(), name);
  }

  self(): string {
    if (realpathSync(this.#realPath) !== this.#realPath) refuse('not-permitted');
    return this.#realPath;
  }

  openFile(name: string, access: FileAccess): number {
    const creation = access.create ? O_CREAT | (access.exclusive ? O_EXCL : 0) : 0;
    const flags = accessMode(access) | creation | O_NOFOLLOW | O_NONBLOCK;
    const descriptor = openSync(this.entry(name), flags | (access.truncate ? O_TRUNC : 0), newFileMode);
    if (fstatSync(descriptor).isFile()) return descriptor;
    closeSync(descriptor);
    return refuse('not-permitted');
  }

  close(): void {}
}
