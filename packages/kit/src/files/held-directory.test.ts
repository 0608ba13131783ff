import {
  closeSync,
  constants,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join, resolve } from 'node:path';

import { describe, expect, it } from 'vitest';

import { directoryContract, newFileContract, regularFileContract } from '../../../../test/support/beneath-contract.ts';
import { HeldDirectory, type OpenedChild } from './held-directory.ts';
import { eachFolder } from '../../../../test/support/each-folder.ts';

let root: string;
eachFolder('svc-walk-', (made) => {
  root = made;
  mkdirSync(join(root, 'a', 'b', 'c'), { recursive: true });
  mkdirSync(join(root, 'elsewhere', 'b', 'c'), { recursive: true });
});

/** Moves a directory away and puts a link to another in its place. */
function swap(path: string, target: string): void {
  renameSync(path, `${path}.old`);
  symlinkSync(target, path);
}

function thrownBy(action: () => unknown): unknown {
  try {
    action();
  } catch (error) {
    return error;
  }
  throw new Error('nothing was thrown');
}

function touch(directory: HeldDirectory): void {
  try {
    writeFileSync(directory.entry('file'), 'text');
  } finally {
    directory.close();
  }
}

function contentIn(directory: HeldDirectory, open: (directory: HeldDirectory) => OpenedChild): string | null {
  try {
    const found = open(directory);
    if (found.kind !== 'file') return null;
    const text = readFileSync(found.fd, 'utf8');
    closeSync(found.fd);
    return text;
  } finally {
    directory.close();
  }
}

const file = { name: 'file', content: 'text' };

describe('a held directory', () => {
  directoryContract('opened', { reach: (directory) => touch(HeldDirectory.open(directory)) });
  directoryContract('opened and made', {
    swaps: 0,
    reach: (directory) => touch(HeldDirectory.open(`${directory}/d/e`, 0o700)),
  });
  directoryContract('opened below another', {
    reach: (directory) => {
      const base = HeldDirectory.open(resolve(directory, '../../../..'));
      try {
        touch(base.below('work/a/./b/c'));
      } finally {
        base.close();
      }
    },
  });
  directoryContract('known by its path', { reach: (directory) => touch(HeldDirectory.checked(directory)), swaps: 0 });
  directoryContract('known by the path of one above it', {
    reach: (directory) => touch(HeldDirectory.checked(resolve(directory, '../../../..')).below('work/a/b/c')),
    swaps: 0,
  });

  for (const [how, hold] of [
    ['held', (path: string) => HeldDirectory.open(path)],
    ['known by its path', (path: string) => HeldDirectory.checked(path)],
  ] as const) {
    regularFileContract(`a directory ${how}`, {
      ...file,
      read: (directory) => contentIn(hold(directory), (held) => held.openFile(file.name)),
    });
    regularFileContract(`a directory ${how}, for writing,`, {
      ...file,
      read: (directory) => contentIn(hold(directory), (held) => held.openFile(file.name, constants.O_RDWR)),
    });
    newFileContract(`a directory ${how}`, (directory, name) => {
      const held = hold(directory);
      try {
        closeSync(held.createFile(name, constants.O_WRONLY, 0o600));
        return true;
      } finally {
        held.close();
      }
    });
  }
  regularFileContract('a reader of bytes', {
    ...file,
    read: (directory) => {
      const held = HeldDirectory.open(directory);
      try {
        return held.readFile(file.name, 4)?.toString() ?? null;
      } finally {
        held.close();
      }
    },
  });

  it.skipIf(!existsSync('/dev/null'))('never opens a device (skipped without /dev/null)', () => {
    for (const held of [HeldDirectory.open('/dev'), HeldDirectory.checked('/dev')]) {
      expect(held.openFile('null')).toEqual({ kind: 'other' });
      held.close();
    }
  });

  it('leads nowhere above itself', () => {
    for (const held of [HeldDirectory.open(root), HeldDirectory.checked(root)]) {
      expect(() => held.below('a/../../a')).toThrow('a/../../a leads out of its directory');
      held.close();
    }
  });

  it('says what stands behind a name', () => {
    symlinkSync('a', join(root, 'link'));
    writeFileSync(join(root, 'file'), '');
    for (const held of [HeldDirectory.open(root), HeldDirectory.checked(root)]) {
      const child = held.child('a');
      expect(child.kind === 'directory' && readdirSync(child.directory.path)).toEqual(['b']);
      if (child.kind === 'directory') child.directory.close();
      expect(['link', 'file'].map((name) => held.child(name).kind)).toEqual(['link', 'file']);
      held.close();
    }
  });
});

describe.skipIf(!existsSync('/proc/self/fd'))('a directory opened without links (skipped without /proc)', () => {
  it('stays the one at the path, also when it has another name since', () => {
    const directory = HeldDirectory.open(join(root, 'a/b/c'));
    try {
      swap(join(root, 'a'), join(root, 'elsewhere'));
      writeFileSync(join(directory.path, 'file'), 'here');
      expect(readFileSync(join(root, 'a.old/b/c/file'), 'utf8')).toBe('here');
      expect(readdirSync(join(root, 'elsewhere/b/c'))).toEqual([]);
    } finally {
      directory.close();
    }
  });

  it('may be the root of all', () => {
    const directory = HeldDirectory.open('/');
    expect(statSync(directory.path).ino).toBe(statSync('/').ino);
    directory.close();
  });

  it('appears with all that is missing above it on request', () => {
    expect(thrownBy(() => HeldDirectory.open(join(root, 'a/x/y')))).toMatchObject({ code: 'ENOENT' });
    HeldDirectory.open(join(root, 'a/x/y'), 0o700).close();
    expect(statSync(join(root, 'a/x')).mode & 0o777).toBe(0o700);
    expect(statSync(join(root, 'a/x/y')).mode & 0o777).toBe(0o700);
    expect(statSync(join(root, 'a/b')).mode & 0o777).not.toBe(0o700);
  });
});
