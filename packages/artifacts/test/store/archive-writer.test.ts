import { execFileSync, spawnSync } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

import fc from 'fast-check';
import { expect, it } from 'vitest';

import { hashOfArchive, type PackedFile, writeArchive } from '../../src/store/archive-writer.ts';
import { archiveBytes, codesOf, temporaryDirectory } from './artifacts.ts';
import { bundleForNode } from './bundle.ts';

const files: readonly PackedFile[] = [
  { name: 'svc.yaml', data: Buffer.from('name: echo\nversion: 1.0.0\nruntime: tool\n') },
  { name: 'bin/echo', data: Buffer.from('#!/bin/sh\n') },
  { name: 'component.wasm', data: Buffer.from([0, 0x61, 0x73, 0x6d, 0x0d, 0, 1, 0]) },
];
const sha256 = '63169d61f248af45171f5db463f7d694bf8dc57dcc208b57a597d19d037f1250';

it('the same files make the same bytes in any order', async () => {
  await fc.assert(
    fc.asyncProperty(fc.shuffledSubarray([...files], { minLength: files.length }), async (shuffled) => {
      expect(await hashOfArchive(shuffled)).toBe(sha256);
    }),
    { numRuns: 10 },
  );
});

it('the same files make the same bytes in any time zone', async () => {
  const script = await bundleForNode(new URL('print-hash.ts', import.meta.url));
  for (const zone of ['UTC', 'Pacific/Kiritimati', 'America/New_York', 'Asia/Kathmandu']) {
    const env = { ...process.env, TZ: zone };
    expect(execFileSync(process.execPath, [script], { env, encoding: 'utf8' })).toBe(`${sha256}\n`);
  }
});

it('what is written to a file has the hash that is returned', async () => {
  const path = join(temporaryDirectory(), 'made', 'echo.zip');
  const written = await writeArchive(path, files);
  expect(written).toEqual({ path, sha256, bytes: (await archiveBytes(files)).length });
  expect(await readFile(path)).toEqual(await archiveBytes(files));
});

const hasPython = spawnSync('python3', ['--version']).status === 0;

it.skipIf(!hasPython)('another zip reader accepts it and sees the modes (skipped without python3)', async () => {
  const path = join(temporaryDirectory(), 'echo.zip');
  await writeArchive(path, files);
  const listing = execFileSync('python3', ['-c', listModes, path], { encoding: 'utf8' });
  expect(listing).toBe('bin/echo 100755\ncomponent.wasm 100644\nsvc.yaml 100644\n');
});

const listModes = `
import sys, zipfile
archive = zipfile.ZipFile(sys.argv[1])
assert archive.testzip() is None
for entry in archive.infolist(): print(entry.filename, oct(entry.external_attr >> 16)[2:])
`;

it('writeArchive writes no name that an archive may not hold', async () => {
  const directory = temporaryDirectory();
  const hostile = [{ name: '../x', data: Buffer.alloc(1) }];
  expect(await codesOf(writeArchive(join(directory, 'x.zip'), hostile))).toEqual(['E-ART-002']);
  const twice = [...files, { name: 'SVC.yaml', data: Buffer.alloc(1) }];
  expect(await codesOf(writeArchive(join(directory, 'x.zip'), twice))).toEqual(['E-ART-002']);
});
