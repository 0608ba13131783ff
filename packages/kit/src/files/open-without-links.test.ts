import {
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { isObstacle, openWithoutLinks } from './open-without-links.ts';

let root: string;
beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), 'svc-walk-')));
  mkdirSync(join(root, 'a', 'b', 'c'), { recursive: true });
  mkdirSync(join(root, 'elsewhere', 'b', 'c'), { recursive: true });
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

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

function descriptors(): number {
  return readdirSync('/proc/self/fd').length;
}

describe.skipIf(!existsSync('/proc/self/fd'))('a directory opened without links (skipped without /proc)', () => {
  it('is the one at the path, also when it has another name since', () => {
    const directory = openWithoutLinks(join(root, 'a/b/c'));
    try {
      swap(join(root, 'a'), join(root, 'elsewhere'));
      writeFileSync(join(directory.path, 'file'), 'here');
      expect(readFileSync(join(root, 'a.old/b/c/file'), 'utf8')).toBe('here');
      expect(readdirSync(join(root, 'elsewhere/b/c'))).toEqual([]);
    } finally {
      closeSync(directory.fd);
    }
  });

  it('may be the root of all', () => {
    const directory = openWithoutLinks('/');
    expect(statSync(directory.path).ino).toBe(statSync('/').ino);
    closeSync(directory.fd);
  });

  it.each([
    ['in the last part', 'a/b/c', 'elsewhere/b/c'],
    ['in the middle', 'a/b', 'elsewhere/b'],
    ['at the beginning', 'a', 'elsewhere'],
    ['back to the very same directory', 'a', 'a.old'],
  ])('is refused over a link %s, which leaves nothing open', (_where, part, target) => {
    swap(join(root, part), join(root, target));
    const before = descriptors();
    expect(isObstacle(thrownBy(() => openWithoutLinks(join(root, 'a/b/c'))))).toBe(true);
    expect(isObstacle(thrownBy(() => openWithoutLinks(join(root, 'a/b/c/d/e'), { makeMode: 0o700 })))).toBe(true);
    expect(descriptors()).toBe(before);
    expect(readdirSync(join(root, 'elsewhere/b/c'))).toEqual([]);
  });

  it('is refused over a link to nowhere, where nothing is made', () => {
    symlinkSync(join(root, 'nowhere'), join(root, 'a/link'));
    expect(isObstacle(thrownBy(() => openWithoutLinks(join(root, 'a/link/x'), { makeMode: 0o700 })))).toBe(true);
    expect(existsSync(join(root, 'nowhere'))).toBe(false);
  });

  it('is refused over a file', () => {
    writeFileSync(join(root, 'a/file'), '');
    expect(isObstacle(thrownBy(() => openWithoutLinks(join(root, 'a/file'))))).toBe(true);
    expect(isObstacle(thrownBy(() => openWithoutLinks(join(root, 'a/file/x'))))).toBe(true);
  });

  it('is made with all that is missing above it where that is asked for', () => {
    expect(thrownBy(() => openWithoutLinks(join(root, 'a/x/y')))).toMatchObject({ code: 'ENOENT' });
    closeSync(openWithoutLinks(join(root, 'a/x/y'), { makeMode: 0o700 }).fd);
    expect(statSync(join(root, 'a/x')).mode & 0o777).toBe(0o700);
    expect(statSync(join(root, 'a/x/y')).mode & 0o777).toBe(0o700);
    expect(statSync(join(root, 'a/b')).mode & 0o777).not.toBe(0o700);
  });
});
