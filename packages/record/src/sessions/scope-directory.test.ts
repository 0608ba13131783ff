import { existsSync, mkdirSync, readdirSync, renameSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';

import type { HeldDirectory } from '@svc/kit/files/held-directory.ts';
import { directoryContract } from '../../../../test/support/beneath-contract.ts';
import { makePrivateDirectory, openScopeDirectory, openStateStore } from './session-directories.ts';
import { eachFolder } from '../../../../test/support/each-folder.ts';

let root: string;
let workdir: string;

eachFolder('svc-scope-', (made) => {
  root = made;
  workdir = join(root, 'workdir');
  mkdirSync(workdir);
  mkdirSync(join(root, 'outside'));
});

/** What an agent of an earlier session may have left in a workdir that is used again. */
const planted: readonly [string, (workdir: string) => void][] = [
  ['a link out of the workdir', () => symlinkSync(join(root, 'outside'), join(workdir, 'a'))],
  ['a link to nowhere', () => symlinkSync(join(root, 'nowhere'), join(workdir, 'a'))],
  ['a file', () => writeFileSync(join(workdir, 'a'), '')],
  ['a link below', () => symlinkSync(join(root, 'outside'), join(makeDirectory('a'), 'b'))],
  ['a file below', () => writeFileSync(join(makeDirectory('a'), 'b'), '')],
];

function makeDirectory(name: string): string {
  mkdirSync(join(workdir, name));
  return join(workdir, name);
}

function writeIn(directory: HeldDirectory): void {
  try {
    writeFileSync(directory.entry('written'), 'text');
  } finally {
    directory.close();
  }
}

describe('a directory of the runtime in the workdir', () => {
  directoryContract('of an agent', { reach: (place) => makePrivateDirectory(place, 'x') });

  it('appears with all above it, for its owner alone', () => {
    makePrivateDirectory(workdir, 'a/b');
    expect(statSync(join(workdir, 'a')).mode & 0o777).toBe(0o700);
    expect(statSync(join(workdir, 'a/b')).mode & 0o777).toBe(0o700);
    makePrivateDirectory(workdir, 'a/b');
  });

  it.each(planted)('fails over %s, and svc makes nothing outside', (_name, plant) => {
    plant(workdir);
    expect(() => makePrivateDirectory(workdir, 'a/b')).toThrow(expect.objectContaining({ code: 'E-IO-001' }));
    expect(readdirSync(join(root, 'outside'))).toEqual([]);
    expect(existsSync(join(root, 'nowhere'))).toBe(false);
  });

  it('fails with the reason of the file system', () => {
    const name = 'x'.repeat(300);
    expect(() => makePrivateDirectory(workdir, name)).toThrow(
      expect.objectContaining({ code: 'E-IO-001', message: expect.stringContaining('the path is too long') }),
    );
  });
});

describe('the scope of a component', () => {
  directoryContract('of a workdir', { reach: (place) => writeIn(openScopeDirectory(place, 'scope')) });
  directoryContract('below a workdir', {
    reach: (place) => writeIn(openScopeDirectory(resolve(place, '../../../..'), 'work/a/b/c')),
    swaps: 0,
  });

  it.each(planted)('fails over %s, and svc makes nothing outside', (_name, plant) => {
    plant(workdir);
    expect(() => openScopeDirectory(workdir, 'a/b')).toThrow(expect.objectContaining({ code: 'E-CAP-002' }));
    expect(readdirSync(join(root, 'outside'))).toEqual([]);
  });

  it('fails with the reason of the file system', () => {
    expect(() => openScopeDirectory(workdir, 'x'.repeat(300))).toThrow(expect.objectContaining({ code: 'E-IO-001' }));
  });
});

/** What the agent of a parent may do above the workdir of a child, at any time. */
describe.skipIf(!existsSync('/proc/self/fd'))('a workdir that has become another place (skipped without /proc)', () => {
  let child: string;

  beforeEach(() => {
    child = join(workdir, '.svc', 'children', 'c');
    mkdirSync(child, { recursive: true });
    mkdirSync(join(root, 'outside', 'children', 'c'), { recursive: true });
    mkdirSync(join(root, 'outside', 'c'));
  });

  it.each([
    ['the last part', '.svc/children/c', 'outside/c'],
    ['children', '.svc/children', 'outside'],
    ['.svc', '.svc', 'outside'],
  ])('has no directory behind a link at %s, and svc makes none there', (_name, part, target) => {
    renameSync(join(workdir, part), join(workdir, 'moved'));
    symlinkSync(join(root, target), join(workdir, part));
    expect(() => makePrivateDirectory(child, 'a/b')).toThrow(expect.objectContaining({ code: 'E-IO-001' }));
    expect(() => openScopeDirectory(child, 'a/b')).toThrow(expect.objectContaining({ code: 'E-CAP-002' }));
    expect(() => openScopeDirectory(child, '.')).toThrow(expect.objectContaining({ code: 'E-CAP-002' }));
    expect(readdirSync(join(root, 'outside'), { recursive: true, encoding: 'utf8' }).sort()).toEqual([
      'c',
      'children',
      'children/c',
    ]);
  });
});

describe('a state store', () => {
  it('lies below the home of the user also where links lead there', () => {
    symlinkSync(join(root, 'outside'), join(root, 'home'));
    const store = openStateStore(join(root, 'home'), 'notes');
    store.close();
    expect(statSync(join(root, 'outside/.svc/state/notes')).isDirectory()).toBe(true);
  });
});
