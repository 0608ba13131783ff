import { execFileSync } from 'node:child_process';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, it } from 'vitest';

import { directoryContract } from '../../../../test/support/beneath-contract.ts';
import { boundedReadContract } from '../../../../test/support/bounded-read-contract.ts';
import { readBeneath, readTextBeneath, readTextBeneathIfThere } from './read-beneath.ts';
import { eachFolder } from '../../../../test/support/each-folder.ts';

const mebibyte = 1024 * 1024;

let base: string;
let folder: string;
eachFolder('svc-beneath-', (made) => {
  base = made;
  folder = join(base, 'folder');
  mkdirSync(join(folder, 'sub'), { recursive: true });
  writeFileSync(join(base, 'secret'), 'secret');
  writeFileSync(join(folder, 'sub/note'), 'note');
});

describe('a file of a folder', () => {
  boundedReadContract('its reader', {
    maxBytes: mebibyte,
    read: (pieces) => {
      writeFileSync(join(folder, 'file'), Buffer.concat(pieces));
      const reading = readTextBeneath(folder, 'file');
      if (reading.kind === 'text') return reading.text;
      return reading.kind === 'unreadable' && reading.reason === 'it is larger than 1 MiB' ? null : reading.kind;
    },
  });

  directoryContract('the reader of a file', {
    prepare: (directory, isDecoy) => writeFileSync(join(directory, 'file'), isDecoy ? 'decoy' : 'own'),
    reach: (directory) => {
      const text = readTextBeneathIfThere(directory.slice(0, -'/a/b/c'.length), 'a/b/c/file');
      if (text === 'decoy') throw new Error('a decoy was read');
      return text;
    },
  });

  it.each([
    ['itself', 'sub/note'],
    ['a relative link inside', 'relative'],
    ['an absolute link inside', 'absolute'],
    ['below a link to a folder inside', 'linked/note'],
  ])('gives its bytes where its path is %s', (_, path) => {
    symlinkSync('sub/note', join(folder, 'relative'));
    symlinkSync(join(folder, 'sub/note'), join(folder, 'absolute'));
    symlinkSync('sub', join(folder, 'linked'));
    expect(readTextBeneath(folder, path)).toEqual({ kind: 'text', text: 'note' });
  });

  it('gives its bytes where a link leads to the folder itself', () => {
    symlinkSync('folder', join(base, 'other'));
    expect(readTextBeneath(join(base, 'other'), 'sub/note')).toEqual({ kind: 'text', text: 'note' });
  });

  it.each([
    ['to a file', 'link', (place: string) => symlinkSync(join(base, 'secret'), place)],
    ['to a file by ..', 'link', (place: string) => symlinkSync('../secret', place)],
    ['to nothing', 'link', (place: string) => symlinkSync(join(base, 'nothing'), place)],
    ['to a device', 'link', (place: string) => symlinkSync('/dev/zero', place)],
    ['to a process', 'link', (place: string) => symlinkSync('/proc/self/environ', place)],
    ['from a folder on the way', 'way/secret', (place: string) => symlinkSync(base, join(place, '..'))],
  ])('fails where a link leads out, %s', (_, path, plant) => {
    plant(join(folder, path));
    const reason = `a link leads out of ${folder}`;
    const hint = 'put the file itself there, in place of the link';
    expect(readBeneath(folder, path, mebibyte)).toEqual({ kind: 'unreadable', reason, hint });
  });

  it('fails without waiting where it is not a regular file', () => {
    execFileSync('mkfifo', [join(folder, 'pipe')]);
    symlinkSync('loop', join(folder, 'loop'));
    const reasons = ['pipe', 'sub', '.', 'loop'].map((path) => readTextBeneath(folder, path));
    expect(reasons).toEqual([
      { kind: 'unreadable', reason: 'it is not a regular file' },
      { kind: 'unreadable', reason: 'it is a directory' },
      { kind: 'unreadable', reason: 'it is a directory' },
      { kind: 'unreadable', reason: 'too many symbolic links' },
    ]);
    expect(() => readTextBeneathIfThere(folder, 'pipe')).toThrow(
      expect.objectContaining({
        code: 'E-IO-001',
        message: `cannot read ${join(folder, 'pipe')}: it is not a regular file`,
      }),
    );
  });

  it('counts as absent where nothing is, or the folder is missing', () => {
    expect(readTextBeneath(folder, 'none')).toEqual({ kind: 'absent' });
    expect(readTextBeneath(folder, 'sub/note/below')).toEqual({ kind: 'absent' });
    expect(readTextBeneathIfThere(join(base, 'nowhere'), 'note')).toBeNull();
  });
});
