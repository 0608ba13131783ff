import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { deflateRawSync } from 'node:zlib';

import { describe, expect, it } from 'vitest';

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { readArchive } from '../../src/store/archive.ts';
import { RegularFile } from '@svc/kit/files/regular-file.ts';
import { temporaryDirectory } from './artifacts.ts';
import { zipBytes, type RawEntry } from './zip-bytes.ts';

const mebibyte = 1024 * 1024;

/** What verifying an archive of these entries says; `read` is a text that is read instead. */
async function saidOf(entries: readonly RawEntry[], read?: string): Promise<string> {
  const path = join(temporaryDirectory(), 'a.zip');
  await writeFile(path, zipBytes(entries));
  const file = await RegularFile.open(path, 'it');
  try {
    const archive = await readArchive(file);
    if (read === undefined) await archive.verify();
    else await archive.readText(read);
    return 'whole';
  } catch (error) {
    if (error instanceof Diagnostic) return `${error.code} ${error.message}`;
    throw error;
  } finally {
    await file.close();
  }
}

/** Bytes that deflate little, so that they are read in several pieces. */
const data = Buffer.alloc(2 * mebibyte, Buffer.from(Array.from({ length: 251 }, (_, index) => (index * 97) % 256)));
const packed = deflateRawSync(data);

describe('verifying an archive', () => {
  it('takes stored and deflated files of any size, empty ones and directories', async () => {
    const empty = { name: 'empty' };
    const entries = [
      { name: 'a', data },
      { name: 'b', data, deflate: true },
      empty,
      { ...empty, name: 'c', deflate: true },
    ];
    expect(await saidOf([...entries, { name: 'd/', mode: 0o040755 }])).toBe('whole');
  });

  it.each([
    ['a wrong checksum', { data, crc: 1 }, 'E-ART-001 it: entry "a" has a wrong checksum'],
    ['one in a deflated file', { data, deflate: true, crc: 1 }, 'E-ART-001 it: entry "a" has a wrong checksum'],
    [
      'a bomb',
      { data: Buffer.alloc(64 * mebibyte), deflate: true, size: 1000 },
      'E-ART-001 it: entry "a" unpacks to more bytes than it declares',
    ],
    [
      'too few bytes',
      { data, deflate: true, size: 3 * mebibyte },
      'E-ART-001 it: entry "a" does not have the size it declares',
    ],
    [
      'data that end early',
      { data: packed.subarray(0, -5), method: 8, size: data.length },
      'E-ART-001 it: entry "a" has damaged data',
    ],
    ['no deflate stream', { data, method: 8 }, 'E-ART-001 it: entry "a" has damaged data'],
  ])('finds %s', async (_fault, entry, said) => {
    expect(
      await saidOf([
        { name: 'z', data },
        { name: 'a', ...entry },
      ]),
    ).toBe(said);
  });

  it('reads no text whose packed form alone is too large', async () => {
    // Empty blocks: a deflate stream of any length that unpacks to nothing.
    const blocks = Buffer.concat([
      Buffer.alloc(5 * 400_000, Buffer.from([0, 0, 0, 0xff, 0xff])),
      Buffer.from([1, 0, 0, 0xff, 0xff]),
    ]);
    const entry = { name: 'svc.yaml', data: blocks, method: 8, size: 0, crc: 0 };
    expect(await saidOf([entry], 'svc.yaml')).toBe('E-ART-003 it: "svc.yaml" is larger than 1 MiB');
    expect(await saidOf([entry])).toBe('whole');
  });
});
