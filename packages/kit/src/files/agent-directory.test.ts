import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';

import { describe, expect, it } from 'vitest';

import { directoryContract } from '../../../../test/support/beneath-contract.ts';
import { openAgentDirectory } from './agent-directory.ts';
import { eachFolder } from '../../../../test/support/each-folder.ts';

let root: string;
let child: string;
eachFolder('svc-agent-', (made) => {
  root = made;
  child = join(root, 'work/.svc/children/c');
  mkdirSync(child, { recursive: true });
  for (const place of ['c', 'children/c']) mkdirSync(join(root, 'outside', place), { recursive: true });
});

function writeIn(workdir: string, directory: string | null): void {
  const held = openAgentDirectory(workdir, directory);
  try {
    writeFileSync(held.entry('file'), 'text');
  } finally {
    held.close();
  }
}

describe('a directory of the agent', () => {
  directoryContract('that is its workdir', { reach: (workdir) => writeIn(workdir, null) });
  directoryContract('below its workdir', { reach: (workdir) => writeIn(workdir, 'out'), swaps: 0 });

  it('opens the workdir or one directly below it, made where it is missing', () => {
    writeIn(child, null);
    writeIn(child, 'out');
    expect(readFileSync(join(child, 'file'), 'utf8')).toBe('text');
    expect(readFileSync(join(child, 'out/file'), 'utf8')).toBe('text');
  });

  it('appears again with the workdir, which a command may have removed', () => {
    rmSync(join(root, 'work'), { recursive: true });
    writeIn(child, 'out');
    expect(readFileSync(join(child, 'out/file'), 'utf8')).toBe('text');
  });

  it.each([
    ['a link', (path: string) => symlinkSync(join(root, 'outside'), path)],
    ['a file', (path: string) => writeFileSync(path, '')],
  ])('takes the place of %s', (_what, plant) => {
    plant(join(child, 'out'));
    writeIn(child, 'out');
    expect(statSync(join(child, 'out')).isDirectory()).toBe(true);
    expect(readFileSync(join(child, 'out/file'), 'utf8')).toBe('text');
    expect(readdirSync(join(root, 'outside')).sort()).toEqual(['c', 'children']);
  });

  describe.skipIf(!existsSync('/proc/self/fd'))('of a workdir with a link above it (skipped without /proc)', () => {
    it.each([
      ['.svc/children/c', 'outside/c'],
      ['.svc/children', 'outside'],
      ['.svc', 'outside'],
      ['.svc', 'nowhere'],
    ])('fails at %s to %s, and nothing is written there', (part, target) => {
      renameSync(join(root, 'work', part), join(root, 'work/moved'));
      symlinkSync(join(root, target), join(root, 'work', part));
      for (const directory of [null, 'out']) expect(() => writeIn(child, directory)).toThrow(/^(ENOTDIR|ELOOP):/);
      const there = readdirSync(join(root, 'outside'), { recursive: true, encoding: 'utf8' });
      expect(there.sort()).toEqual(['c', 'children', 'children/c']);
      expect(existsSync(join(root, 'nowhere'))).toBe(false);
    });

    it('does not appear again there after it was removed', () => {
      rmSync(child, { recursive: true });
      renameSync(join(root, 'work/.svc/children'), join(root, 'work/moved'));
      rmSync(join(root, 'outside/c'), { recursive: true });
      symlinkSync(join(root, 'outside'), join(root, 'work/.svc/children'));
      expect(() => writeIn(child, 'out')).toThrow(/^(ENOTDIR|ELOOP):/);
      expect(readdirSync(join(root, 'outside'))).toEqual(['children']);
    });
  });
});
