import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, it } from 'vitest';

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { RegularFile } from '@svc/kit/files/regular-file.ts';
import { readArchive } from '../../src/store/archive.ts';
import { temporaryDirectory } from './artifacts.ts';
import { type RawEntry, zipBytes } from './zip-bytes.ts';

const mebibyte = 1024 * 1024;
/** Bytes that deflate little, so that they are read in several pieces. */
const data = Buffer.alloc(5 * mebibyte + 7);
for (let index = 0, state = 1; index < data.length; index += 1) {
  state = (state * 1_103_515_245 + 12_345) & 0x7fffffff;
  data[index] = state >> 16;
}

interface Unpacked {
  readonly folder: string;
  /** Is null if it was unpacked. */
  readonly code: string | null;
  /** The most bytes that were read of the archive at once. */
  readonly maxAtOnce: number;
}

async function unpacked(entries: readonly RawEntry[]): Promise<Unpacked> {
  const directory = temporaryDirectory();
  const path = join(directory, 'a.zip');
  const folder = join(directory, 'out');
  mkdirSync(folder);
  writeFileSync(path, zipBytes(entries));
  const file = await RegularFile.open(path);
  const archive = await readArchive(file);
  const lengths: number[] = [];
  const readAt = file.readAt.bind(file);
  file.readAt = async (start, length, place) => {
    lengths.push(length);
    return await readAt(start, length, place);
  };
  try {
    await archive.extractTo(join(folder, 'target'));
    return { folder, code: null, maxAtOnce: Math.max(...lengths) };
  } catch (error) {
    if (!(error instanceof Diagnostic)) throw error;
    return { folder, code: error.code, maxAtOnce: Math.max(...lengths) };
  } finally {
    await file.close();
  }
}

describe('unpacking an archive', () => {
  it('writes files of any size in pieces, whole and with their modes', async () => {
    const { folder, code, maxAtOnce } = await unpacked([
      { name: 'bin/a', data },
      { name: 'b', data, deflate: true },
      { name: 'empty', data: Buffer.alloc(0) },
    ]);
    expect(code).toBe(null);
    expect(maxAtOnce).toBe(mebibyte);
    const at = (name: string): string => join(folder, 'target', name);
    expect(readFileSync(at('bin/a')).equals(data)).toBe(true);
    expect(readFileSync(at('b')).equals(data)).toBe(true);
    expect(['bin/a', 'b', 'empty'].map((name) => [statSync(at(name)).mode & 0o100, statSync(at(name)).size])).toEqual([
      [0o100, data.length],
      [0, data.length],
      [0, 0],
    ]);
  });

  it.each([
    ['a wrong checksum', { data, crc: 1 }],
    ['a wrong checksum behind what unpacks', { data, deflate: true, crc: 1 }],
    ['more bytes than it declares', { data, deflate: true, size: 2 * mebibyte }],
    ['fewer bytes than it declares', { data, deflate: true, size: data.length + 1 }],
  ])('leaves nothing of one with %s, found behind what has been written', async (_fault, entry) => {
    const { folder, code } = await unpacked([
      { name: 'z', data },
      { name: 'a', ...entry },
    ]);
    expect(code).toBe('E-ART-001');
    expect(readdirSync(folder)).toEqual([]);
  });
});
