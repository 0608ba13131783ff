import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { writeWorkdirFile } from './workdir-file.ts';

let folder = '';
let workdir = '';

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'svc-workdir-file-'));
  workdir = join(folder, 'workdir');
  mkdirSync(workdir);
});

afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

const result = { directory: 'out', name: 'result.txt' } as const;

describe('a file of the runtime in the workdir', () => {
  it('is written into a directory made for it, and nothing else is left there', () => {
    writeWorkdirFile({ workdir, ...result, text: 'done' });
    expect(readFileSync(join(workdir, 'out', 'result.txt'), 'utf8')).toBe('done');
    expect(readdirSync(join(workdir, 'out'))).toEqual(['result.txt']);
  });

  it('replaces what was there', () => {
    writeWorkdirFile({ workdir, ...result, text: 'one' });
    writeWorkdirFile({ workdir, ...result, text: 'two' });
    expect(readFileSync(join(workdir, 'out', 'result.txt'), 'utf8')).toBe('two');
  });

  it('goes into the workdir itself', () => {
    writeWorkdirFile({ workdir, directory: null, name: 'task.md', text: 'Count.' });
    expect(readFileSync(join(workdir, 'task.md'), 'utf8')).toBe('Count.');
  });

  it('never follows a link planted in place of its directory', () => {
    mkdirSync(join(folder, 'outside'));
    symlinkSync(join(folder, 'outside'), join(workdir, 'out'));
    writeWorkdirFile({ workdir, ...result, text: 'done' });
    expect(readdirSync(join(folder, 'outside'))).toEqual([]);
    expect(lstatSync(join(workdir, 'out')).isDirectory()).toBe(true);
    expect(readFileSync(join(workdir, 'out', 'result.txt'), 'utf8')).toBe('done');
  });

  it('never follows a link planted in place of the file or of its temporary name', () => {
    const victim = join(folder, 'victim');
    writeFileSync(victim, 'untouched');
    mkdirSync(join(workdir, 'out'));
    symlinkSync(victim, join(workdir, 'out', 'result.txt'));
    symlinkSync(victim, join(workdir, 'out', '.result.txt.0.tmp'));
    writeWorkdirFile({ workdir, ...result, text: 'done' });
    expect(readFileSync(victim, 'utf8')).toBe('untouched');
    expect(lstatSync(join(workdir, 'out', 'result.txt')).isFile()).toBe(true);
  });

  it('takes the place of a file where its directory belongs', () => {
    writeFileSync(join(workdir, 'out'), 'a file');
    writeWorkdirFile({ workdir, ...result, text: 'done' });
    expect(readFileSync(join(workdir, 'out', 'result.txt'), 'utf8')).toBe('done');
  });

  it('moves a directory aside that stands in its place', () => {
    mkdirSync(join(workdir, 'out', 'result.txt', 'kept'), { recursive: true });
    writeWorkdirFile({ workdir, ...result, text: 'done' });
    expect(readFileSync(join(workdir, 'out', 'result.txt'), 'utf8')).toBe('done');
    expect(existsSync(join(workdir, 'out', '.result.txt.0.tmp.displaced', 'kept'))).toBe(true);
  });

  it('says why it cannot be written, and leaves nothing', () => {
    mkdirSync(join(workdir, 'out'));
    for (let number = 0; number <= 100; number += 1)
      writeFileSync(join(workdir, 'out', `.result.txt.${number}.tmp`), '');
    expect(() => writeWorkdirFile({ workdir, ...result, text: 'done' })).toThrow('out/result.txt cannot be written');
    expect(existsSync(join(workdir, 'out', 'result.txt'))).toBe(false);
  });
});
