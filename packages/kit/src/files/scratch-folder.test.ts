import {
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';

import { describe, expect, it } from 'vitest';

import { makeScratch, placeFolder, removeLeftovers, removeScratch } from './scratch-folder.ts';
import { eachFolder } from '../../../../test/support/each-folder.ts';

const hour = 3600;
let root = '';

eachFolder('svc-scratch-', (made) => {
  root = made;
});

/** A folder with a file in it, that nobody has touched for so long. */
function left(name: string, hours: number): string {
  const path = join(root, name);
  mkdirSync(path);
  writeFileSync(join(path, 'text'), '');
  age(path, hours);
  return path;
}

function age(path: string, hours: number): void {
  const at = Date.now() / 1000 - hours * hour;
  utimesSync(path, at, at);
}

describe('a scratch folder', () => {
  it('begins new, for its owner alone, and goes with all in it once it is removed', () => {
    const folder = makeScratch(root, 'svc-x-');
    expect(readdirSync(root)).toEqual([expect.stringMatching(/^svc-x-/)]);
    expect(statSync(folder).mode & 0o777).toBe(0o700);
    writeFileSync(join(folder, 'text'), '');
    removeScratch(folder);
    removeScratch(folder);
    expect(readdirSync(root)).toEqual([]);
  });

  it('takes away those that were left a day ago, and nothing of another name, age or kind', () => {
    left('svc-x-old', 25);
    left('svc-x-young', 23);
    left('svc-y-old', 25);
    const elsewhere = left('elsewhere', 25);
    symlinkSync(elsewhere, join(root, 'svc-x-link'));
    const folder = makeScratch(root, 'svc-x-');
    removeScratch(folder);
    expect(readdirSync(root).toSorted()).toEqual(['elsewhere', 'svc-x-link', 'svc-x-young', 'svc-y-old']);
    expect(readdirSync(elsewhere)).toEqual(['text']);
  });

  it.skipIf(process.getuid?.() !== 0)('leaves what belongs to others (needs root, to give it away)', () => {
    const others = left('svc-x-others', 25);
    chownSync(others, 65_534, 65_534);
    makeScratch(root, 'svc-x-');
    expect(existsSync(others)).toBe(true);
  });

  it('cannot be made where there is no folder', () => {
    expect(() => makeScratch(join(root, 'none'), 'svc-x-')).toThrow(
      expect.objectContaining({ code: 'E-IO-001', message: expect.stringContaining('cannot make a folder in') }),
    );
  });
});

describe('a folder that is whole', () => {
  it('takes its place once, and leaves a folder alone that stands there', async () => {
    const place = join(root, 'place');
    expect(await placeFolder(left('one', 0), place)).toBe(true);
    const other = left('other', 0);
    expect(await placeFolder(other, place)).toBe(false);
    expect(readdirSync(root).toSorted()).toEqual(['other', 'place']);
    await expect(placeFolder(other, join(root, 'none/place'))).rejects.toThrow('ENOENT');
  });
});

describe('leftovers', () => {
  it('include files, and nothing where there is no folder', () => {
    const file = join(root, '.svc-tmp-abc');
    writeFileSync(file, '');
    age(file, 25);
    removeLeftovers(join(root, 'none'), '.svc-tmp-', { now: Date.now(), owner: null });
    removeLeftovers(root, '.svc-tmp-', { now: Date.now(), owner: null });
    expect(readdirSync(root)).toEqual([]);
  });
});
