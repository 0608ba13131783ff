import { Dir, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

import { afterEach, beforeEach, expect, it, vi } from 'vitest';

import { HeldDirectory } from '@svc/kit/files/held-directory.ts';
import { changedFiles } from './changed-files.ts';
import { ExportRoot } from './export-root.ts';

let workdir: string;
const startMs = 1_760_000_000_000;

beforeEach(() => {
  workdir = realpathSync(mkdtempSync(join(tmpdir(), 'svc-changed-')));
});

afterEach(() => {
  vi.restoreAllMocks();
  rmSync(workdir, { recursive: true, force: true });
});

function write(path: string, atMs: number): void {
  const file = join(workdir, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, 'x');
  utimesSync(file, atMs / 1000, atMs / 1000);
}

function found(root = 'out'): readonly string[] {
  return changedFiles(new ExportRoot({ workdir, root, achieved: 'sealed' }), startMs);
}

it('changedFiles names the files that changed since, at any depth and in the order of their paths', () => {
  write('out/new.txt', startMs + 1);
  write('out/a/b/deep.txt', startMs);
  write('out/a-b.txt', startMs + 5);
  write('out/old.txt', startMs - 60_000);
  write('elsewhere.txt', startMs + 1);
  expect(found()).toEqual(['a-b.txt', 'a/b/deep.txt', 'new.txt']);
  expect(found('.')).toHaveLength(4);
});

it('neither names nor follows links, and looks at nothing outside', () => {
  write('secret/key', startMs + 1);
  mkdirSync(join(workdir, 'out'));
  symlinkSync(join(workdir, 'secret'), join(workdir, 'out/folder'));
  symlinkSync(join(workdir, 'secret/key'), join(workdir, 'out/file'));
  symlinkSync('.', join(workdir, 'out/loop'));
  expect(found()).toEqual([]);
  symlinkSync('/etc', join(workdir, 'etc'));
  expect(found('etc')).toEqual([]);
});

it('changedFiles is empty while there is nothing', () => {
  expect(found()).toEqual([]);
  write('out', startMs + 1);
  expect(found()).toEqual([]);
});

it('changedFiles names a hundred at the most, and does not look at thousands', () => {
  for (let index = 0; index < 2500; index += 1) write(`out/f${String(index).padStart(4, '0')}`, startMs + 1);
  const looked = vi.spyOn(HeldDirectory.prototype, 'entry');
  const read = vi.spyOn(Dir.prototype, 'readSync');
  expect(found()).toHaveLength(100);
  expect(looked.mock.calls.filter(([name]) => name.startsWith('f'))).toHaveLength(2000);
  // Nor reads the names of the others: of millions, those alone would stop everything for seconds.
  expect(read).toHaveBeenCalledTimes(2000);
});

it.each(['EMFILE', 'EIO', 'ESTALE'])('changedFiles passes over what the system refuses to say, with %s too', (code) => {
  write('out/new.txt', startMs + 1);
  write('out/a/b/deep.txt', startMs + 1);
  const refusal = (): never => {
    throw Object.assign(new Error(`${code}: refused`), { code, errno: -1, syscall: 'open' });
  };
  const refused = (unsaid: string) =>
    function (this: HeldDirectory, name: string): string {
      return name === unsaid ? refusal() : `${this.path}/${name}`;
    };
  const entries = vi.spyOn(HeldDirectory.prototype, 'entry');
  entries.mockImplementation(refused('deep.txt'));
  expect(found()).toEqual(['new.txt']);
  entries.mockImplementation(refused('a'));
  expect(found()).toEqual(['new.txt']);
  entries.mockRestore();
  const reads = vi.spyOn(Dir.prototype, 'readSync').mockImplementation(refusal);
  expect(found()).toEqual([]);
  reads.mockRestore();
  vi.spyOn(HeldDirectory, 'open').mockImplementation(refusal);
  expect(found()).toEqual([]);
});
