import { mkdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

import { makeDirectories } from './make-directories.ts';
import { eachFolder } from '../../../../test/support/each-folder.ts';

let folder = '';

eachFolder('svc-directories-', (made) => {
  folder = made;
});

describe('makeDirectories', () => {
  it('makes what is missing with the mode, and leaves what is there', () => {
    mkdirSync(join(folder, 'a'), { mode: 0o755 });
    makeDirectories(join(folder, 'a', 'b', 'c'), 0o700);
    makeDirectories(join(folder, 'a', 'b', 'c'), 0o755);
    expect(['a', 'a/b', 'a/b/c'].map((path) => statSync(join(folder, path)).mode & 0o777)).toEqual([
      0o755, 0o700, 0o700,
    ]);
  });

  it('takes a link to a directory for one', () => {
    mkdirSync(join(folder, 'real'));
    symlinkSync('real', join(folder, 'link'));
    makeDirectories(join(folder, 'link'));
    makeDirectories(join(folder, 'link', 'below'));
    expect(statSync(join(folder, 'real', 'below')).isDirectory()).toBe(true);
  });

  it('refuses a file on the way, or in the place', () => {
    writeFileSync(join(folder, 'file'), '');
    expect(() => makeDirectories(join(folder, 'file'))).toThrow('EEXIST');
    expect(() => makeDirectories(join(folder, 'file', 'below'))).toThrow('ENOTDIR');
  });

  it.skipIf(process.platform !== 'linux')('gives up below a directory that takes none', () => {
    expect(() => makeDirectories('/proc/nohome/.svc/cache')).toThrow('ENOENT');
    makeDirectories('/proc');
  });
});
