/** Tests what promises to replace files whole or not at all. */

import {
  chmodSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

import { isErrno } from '@svc/kit/diagnostics/system-reason.ts';
import { expect, it, onTestFinished } from 'vitest';

import { canMount, makeReadOnly, mountSmall } from '../../packages/artifacts/test/store/small-file-system.ts';

export interface Replacement {
  /** Where the file is, below the directory that `write` gets. */
  readonly path: string;
  /** Writes the file with a content that distinguishes `one` from `other`; rejects or throws when it cannot be written. */
  readonly write: (directory: string, variant: 'one' | 'other') => Promise<unknown> | void;
  /** The mode of the file, under a umask of 022. */
  readonly mode: number;
  /** What cannot be written is let go. */
  readonly isQuiet?: true;
}

/** What everything promises that replaces a file as a whole: others see the old one or the new one, and nothing else beside it. */
export function replacementContract(name: string, { path, write, mode, isQuiet }: Replacement): void {
  async function isRefusedIn(directory: string): Promise<boolean> {
    return await (async () => await write(directory, 'other'))().then(
      () => isQuiet === true,
      () => isQuiet !== true,
    );
  }

  it(`${name} is made, with its mode and nothing beside it`, async () => {
    const directory = temporaryDirectory();
    await write(directory, 'one');
    const file = join(directory, path);
    expect((statSync(file).mode & 0o777).toString(8)).toBe((mode & ~process.umask()).toString(8));
    expect(readdirSync(dirname(file))).toEqual([file.slice(dirname(file).length + 1)]);
  });

  it(`${name} is replaced and not written into`, async () => {
    const directory = temporaryDirectory();
    const file = join(directory, path);
    await write(directory, 'one');
    const one = readFileSync(file, 'utf8');
    linkSync(file, join(directory, 'held'));
    await write(directory, 'other');
    expect(readFileSync(join(directory, 'held'), 'utf8')).toBe(one);
    expect(readFileSync(file, 'utf8')).not.toBe(one);
    expect(readdirSync(dirname(file)).filter((each) => each !== 'held')).toHaveLength(1);
  });

  it(`${name} takes the place of a link, which is not followed`, async () => {
    const directory = temporaryDirectory();
    const file = join(directory, path);
    writeFileSync(join(directory, 'victim'), 'untouched');
    mkdirSync(dirname(file), { recursive: true });
    symlinkSync(join(directory, 'victim'), file);
    await write(directory, 'one');
    expect(lstatSync(file).isFile()).toBe(true);
    expect(readFileSync(join(directory, 'victim'), 'utf8')).toBe('untouched');
  });

  it(`${name} stays where its directory may not be written to, and nothing is left`, async () => {
    const directory = temporaryDirectory();
    await write(directory, 'one');
    chmodSync(directory, 0o755);
    chmodSync(dirname(join(directory, path)), 0o555);
    const before = treeOf(directory);
    expect(await asOrdinaryUser(async () => await isRefusedIn(directory))).toBe(true);
    chmodSync(dirname(join(directory, path)), 0o755);
    expect(treeOf(directory)).toEqual(before);
  });

  it.skipIf(!canMount)(
    `${name} stays on a full disk, and nothing is left (skipped without the right to mount)`,
    async () => {
      const directory = mountSmall(512);
      await write(directory, 'one');
      fill(directory);
      const before = treeOf(directory);
      expect(await isRefusedIn(directory)).toBe(true);
      expect(treeOf(directory)).toEqual(before);
    },
  );

  it.skipIf(!canMount)(
    `${name} stays on a disk that is read-only, and nothing is left (skipped without the right to mount)`,
    async () => {
      const directory = mountSmall(512);
      await write(directory, 'one');
      makeReadOnly(directory);
      const before = treeOf(directory);
      expect(await isRefusedIn(directory)).toBe(true);
      expect(treeOf(directory)).toEqual(before);
    },
  );
}

function temporaryDirectory(): string {
  const directory = realpathSync(mkdtempSync(join(tmpdir(), 'svc-replace-')));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

/** Root may write everywhere, so that it gives its rights up for a while. */
async function asOrdinaryUser<T>(work: () => Promise<T>): Promise<T> {
  const isRoot = process.getuid?.() === 0;
  if (isRoot) process.seteuid?.(65_534);
  try {
    return await work();
  } finally {
    if (isRoot) process.seteuid?.(0);
  }
}

/** Leaves no byte free. */
function fill(disk: string): void {
  for (let index = 0; ; index += 1) {
    try {
      writeFileSync(join(disk, `filler-${index}`), Buffer.alloc(4096));
    } catch (error) {
      if (isErrno(error, 'ENOSPC')) return;
      throw error;
    }
  }
}

/** What is below a directory, and what the files hold. */
function treeOf(directory: string): unknown {
  if (!existsSync(directory)) return null;
  return readdirSync(directory, { recursive: true, withFileTypes: true })
    .map((entry) => {
      const path = join(entry.parentPath, entry.name);
      return entry.isFile() ? `${path}: ${readFileSync(path, 'utf8')}` : path;
    })
    .sort();
}
