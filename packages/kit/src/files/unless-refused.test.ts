import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

import { describe, expect, it } from 'vitest';

import { namesIfThere, unlessErrno, unlessRefused, unlessRefusedLater } from './unless-refused.ts';
import { eachFolder } from '../../../../test/support/each-folder.ts';

let folder: string;
eachFolder('svc-refused-', (made) => {
  folder = made;
});

const bug = (): never => {
  throw new TypeError('a bug');
};

describe('what the system refuses', () => {
  it('gives another answer, at once and later', async () => {
    const absent = join(folder, 'absent');
    expect(unlessRefused(() => readFileSync(absent), 'none')).toBe('none');
    expect(await unlessRefusedLater(async () => await readFile(absent), 'none')).toBe('none');
    expect(unlessErrno(['ENOENT'], () => readFileSync(absent), 'none')).toBe('none');
  });

  it('throws where its code is not one of those that were named', () => {
    expect(() => unlessErrno(['ENOENT'], () => readFileSync(folder), 'none')).toThrow('EISDIR');
  });

  it('does not hide a bug', async () => {
    expect(() => unlessRefused(bug, null)).toThrow('a bug');
    expect(() => unlessErrno(['ENOENT'], bug, null)).toThrow('a bug');
    await expect(unlessRefusedLater(async () => await Promise.resolve().then(bug), null)).rejects.toThrow('a bug');
  });
});

describe('the names in a directory', () => {
  it('form an empty list where there is no directory', () => {
    writeFileSync(join(folder, 'file'), '');
    expect(namesIfThere(join(folder, 'absent'), 'cannot list')).toEqual([]);
    expect(namesIfThere(join(folder, 'file'), 'cannot list')).toEqual([]);
    mkdirSync(join(folder, 'more'));
    expect(namesIfThere(folder, 'cannot list').toSorted()).toEqual(['file', 'more']);
  });

  it('fail where the system refuses them', () => {
    const long = join(folder, 'x'.repeat(300));
    expect(() => namesIfThere(long, 'the names cannot be listed')).toThrow(
      expect.objectContaining({ code: 'E-IO-001', message: 'the names cannot be listed: the path is too long' }),
    );
  });
});
