import { lstatSync, mkdirSync, readdirSync, readFileSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

import { replacementContract } from '../../../../test/support/replacement-contract.ts';
import { writeWorkdirFile } from './workdir-file.ts';
import { eachFolder } from '../../../../test/support/each-folder.ts';

let folder = '';
let workdir = '';

eachFolder('svc-workdir-file-', (made) => {
  folder = made;
  workdir = join(folder, 'workdir');
  mkdirSync(workdir);
});

const result = { directory: 'out', name: 'result.txt' } as const;

describe('a file of the runtime in the workdir', () => {
  replacementContract('of a session', {
    path: 'out/result.txt',
    mode: 0o644,
    write: (directory, variant) => writeWorkdirFile({ workdir: realpathSync(directory), ...result, content: variant }),
  });

  it('goes into a directory of its own, and nothing else stays there', () => {
    writeWorkdirFile({ workdir, ...result, content: 'done' });
    expect(readFileSync(join(workdir, 'out', 'result.txt'), 'utf8')).toBe('done');
    expect(readdirSync(join(workdir, 'out'))).toEqual(['result.txt']);
  });

  it('replaces what was there', () => {
    writeWorkdirFile({ workdir, ...result, content: 'one' });
    writeWorkdirFile({ workdir, ...result, content: 'two' });
    expect(readFileSync(join(workdir, 'out', 'result.txt'), 'utf8')).toBe('two');
  });

  it('goes into the workdir itself', () => {
    writeWorkdirFile({ workdir, directory: null, name: 'task.md', content: 'Count.' });
    expect(readFileSync(join(workdir, 'task.md'), 'utf8')).toBe('Count.');
  });

  it('never follows a link planted in place of its directory', () => {
    mkdirSync(join(folder, 'outside'));
    symlinkSync(join(folder, 'outside'), join(workdir, 'out'));
    writeWorkdirFile({ workdir, ...result, content: 'done' });
    expect(readdirSync(join(folder, 'outside'))).toEqual([]);
    expect(lstatSync(join(workdir, 'out')).isDirectory()).toBe(true);
    expect(readFileSync(join(workdir, 'out', 'result.txt'), 'utf8')).toBe('done');
  });

  it('never follows a link planted in place of the file', () => {
    const victim = join(folder, 'victim');
    writeFileSync(victim, 'untouched');
    mkdirSync(join(workdir, 'out'));
    symlinkSync(victim, join(workdir, 'out', 'result.txt'));
    writeWorkdirFile({ workdir, ...result, content: 'done' });
    expect(readFileSync(victim, 'utf8')).toBe('untouched');
    expect(lstatSync(join(workdir, 'out', 'result.txt')).isFile()).toBe(true);
  });

  it('takes the place of a file where its directory belongs', () => {
    writeFileSync(join(workdir, 'out'), 'a file');
    writeWorkdirFile({ workdir, ...result, content: 'done' });
    expect(readFileSync(join(workdir, 'out', 'result.txt'), 'utf8')).toBe('done');
  });

  it('moves a directory aside that stands in its place', () => {
    mkdirSync(join(workdir, 'out', 'result.txt', 'kept'), { recursive: true });
    writeWorkdirFile({ workdir, ...result, content: 'done' });
    expect(readFileSync(join(workdir, 'out', 'result.txt'), 'utf8')).toBe('done');
    const aside = readdirSync(join(workdir, 'out')).filter((name) => name.endsWith('.displaced'));
    expect(aside.map((name) => readdirSync(join(workdir, 'out', name)))).toEqual([['kept']]);
  });

  it('says why it cannot be written, and leaves nothing', () => {
    const name = 'x'.repeat(300);
    expect(() => writeWorkdirFile({ workdir, directory: 'out', name, content: 'done' })).toThrow(
      `out/${name} cannot be written in ${workdir}: the path is too long`,
    );
    expect(readdirSync(join(workdir, 'out'))).toEqual([]);
  });
});
