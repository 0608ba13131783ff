import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { expect, it } from 'vitest';

import { readArchive } from '../../src/store/archive.ts';
import { RegularFile } from '@svc/kit/files/regular-file.ts';
import { codesOf, temporaryDirectory } from './artifacts.ts';
import { zipBytes, type RawEntry } from './zip-bytes.ts';

const data = Buffer.alloc(3_000_000, 'the start of something long; ');

async function startOf(entry: RawEntry, maxBytes: number, name = 'a'): Promise<string> {
  const path = join(temporaryDirectory(), 'a.zip');
  await writeFile(path, zipBytes([entry]));
  const file = await RegularFile.open(path, 'it');
  try {
    return (await (await readArchive(file)).readStart(name, maxBytes)).toString();
  } finally {
    await file.close();
  }
}

it.each([
  ['stored', {}],
  ['deflated', { deflate: true }],
])('the first bytes of a file that is %s are read without its end', async (_, how) => {
  expect(await startOf({ name: 'a', data, ...how }, 9)).toBe('the start');
  // Its checksum is over what is not read.
  expect(await startOf({ name: 'a', data, crc: 1, ...how }, 9)).toBe('the start');
});

it('a file that has fewer is given whole', async () => {
  expect(await startOf({ name: 'a', data: Buffer.from('short') }, 9)).toBe('short');
  expect(await startOf({ name: 'a' }, 9)).toBe('');
});

it('what is no file, or no deflated data, is refused', async () => {
  expect(await codesOf(startOf({ name: 'a', data }, 9, 'b'))).toEqual(['E-ART-004']);
  const garbage = Buffer.alloc(1000, 0xff);
  expect(await codesOf(startOf({ name: 'a', data: garbage, method: 8 }, 9))).toEqual(['E-ART-001']);
});
