import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import type { ArchiveLimits } from '../../src/store/archive-entry.ts';
import { readArchive } from '../../src/store/archive.ts';
import { RegularFile } from '@svc/kit/files/regular-file.ts';
import { archiveBytes, codesOf, temporaryDirectory, toolFiles } from './artifacts.ts';
import { fileMode, linkMode, type RawEntry, zipBytes } from './zip-bytes.ts';

const limits: ArchiveLimits = {
  maxArchiveBytes: 100_000,
  maxUnpackedBytes: 1_000_000,
  maxEntries: 20,
  maxTextBytes: 1000,
};
const manifest: RawEntry = { name: 'svc.yaml', data: Buffer.from('name: a') };

/** Unpacks the bytes; returns what then lies in the target. A refusal that leaves anything beside it is another error. */
async function unpack(bytes: Buffer): Promise<string[]> {
  const directory = temporaryDirectory();
  const path = join(directory, 'hostile.zip');
  const out = join(directory, 'out');
  await writeFile(path, bytes);
  await mkdir(out);
  const file = await RegularFile.open(path);
  try {
    const archive = await readArchive(file, limits);
    await archive.extractTo(join(out, 'target'));
  } catch (error) {
    const left = await readdir(out);
    if (left.length > 0) throw new Error(`refused, but left ${left.join(', ')}`, { cause: error });
    throw error;
  } finally {
    await file.close();
  }
  return (await readdir(join(out, 'target'), { recursive: true })).sort();
}

async function messageOf(bytes: Buffer): Promise<string> {
  return await unpack(bytes).then(
    () => 'accepted',
    (error: unknown) =>
      error instanceof Diagnostic ? `${error.code} ${error.message.replace(/^.*?zip:? /, '')}` : String(error),
  );
}

/** An archive, or its end, whose directory is said to begin so many bytes later. */
function moved(archive: Buffer, bytes: number): Buffer {
  const copy = Buffer.from(archive);
  copy.writeUInt32LE(copy.readUInt32LE(copy.length - 6) + bytes, copy.length - 6);
  return copy;
}

function withComment(archive: Buffer, comment: Buffer): Buffer {
  const copy = Buffer.concat([archive, comment]);
  copy.writeUInt16LE(comment.length, archive.length - 2);
  return copy;
}

describe('an archive with a name that is not allowed is refused and nothing of it is written', () => {
  it.each([
    ['../x', 'E-ART-002 entry "../x" has a ".." component'],
    ['a/../../x', 'E-ART-002 entry "a/../../x" has a ".." component'],
    ['/etc/x', 'E-ART-002 entry "/etc/x" has an absolute path'],
    ['C:x', 'E-ART-002 entry "C:x" has an absolute path'],
    ['a\\x', 'E-ART-002 entry "a\\x" has a backslash in its name'],
    ['..\\x', 'E-ART-002 entry "..\\x" has a backslash in its name'],
    ['a//x', 'E-ART-002 entry "a//x" has an empty or "." component'],
    ['./x', 'E-ART-002 entry "./x" has an empty or "." component'],
    ['x\0.md', 'E-ART-002 entry "x\\u{0}.md" has a control character in its name'],
    ['x\u001b[2J', 'E-ART-002 entry "x\\u{1b}[2J" has a control character in its name'],
    ['', 'E-ART-002 entry "" has an empty name'],
    ['/', 'E-ART-002 entry "/" has an empty name'],
  ])('%j', async (name, message) => {
    expect(await messageOf(zipBytes([manifest, { name, data: Buffer.from('x') }]))).toBe(message);
  });

  it('a name of bytes that are not UTF-8', async () => {
    const bytes = zipBytes([manifest, { name: Buffer.from([0x61, 0xff]), data: Buffer.from('x') }]);
    expect(await messageOf(bytes)).toBe('E-ART-002 entry "aÿ" has a name that is not UTF-8');
  });

  it('a name that is another one in the header of the entry itself', async () => {
    const bytes = zipBytes([manifest, { name: 'x', localName: '../x' }]);
    expect(await messageOf(bytes)).toBe('E-ART-002 entry "x" has another name in its own header');
  });

  it('a second name in the field for Unicode paths', async () => {
    const extra = Buffer.concat([Buffer.from([0x75, 0x70, 9, 0, 1, 0, 0, 0, 0]), Buffer.from('../x')]);
    expect(await messageOf(zipBytes([manifest, { name: 'x', extra }]))).toBe(
      'E-ART-002 entry "x" has a second, different name',
    );
  });

  it('names that are too long or too deep', async () => {
    expect(await messageOf(zipBytes([manifest, { name: 'x'.repeat(300) }]))).toContain('has a name that is too long');
    expect(await messageOf(zipBytes([manifest, { name: 'a/'.repeat(40) + 'x' }]))).toContain('is nested too deep');
  });
});

describe('names that would meet in one place are refused', () => {
  it.each([
    ['x', 'x', 'is there twice'],
    ['x', 'X', 'collides with "x" in case or Unicode form'],
    ['caf\u00e9', 'cafe\u0301', 'collides with "café" in case or Unicode form'],
    ['stra\u00dfe', 'STRASSE', 'collides with "straße" in case or Unicode form'],
    ['a', 'a/x', 'is both a file and a directory'],
    ['a/x', 'a', 'is both a file and a directory'],
    ['Bin/x', 'bin/y', 'collides with "Bin" in case or Unicode form'],
    ['a/', 'a/', 'is there twice'],
    ['a/', 'a', 'is both a file and a directory'],
  ])('%j and %j', async (first, second, fault) => {
    const entry = (name: string): RawEntry => (name.endsWith('/') ? { name, mode: 0o040755 } : { name });
    expect(await messageOf(zipBytes([manifest, entry(first), entry(second)]))).toContain(fault);
  });

  it('except that of a directory before and after the files in it', async () => {
    const directory: RawEntry = { name: 'a/', mode: 0o040755 };
    expect(await unpack(zipBytes([directory, { name: 'a/x' }]))).toEqual(['a', 'a/x']);
    expect(await unpack(zipBytes([{ name: 'a/x' }, directory]))).toEqual(['a', 'a/x']);
  });
});

describe('an entry that is no plain file or directory is refused', () => {
  it.each([
    ['a symbolic link', linkMode, 'is a symbolic link'],
    ['a character device', 0o020666, 'is a special file'],
    ['a block device', 0o060666, 'is a special file'],
    ['a FIFO', 0o010666, 'is a special file'],
    ['a socket', 0o140777, 'is a special file'],
    ['a directory with the name of a file', 0o040755, 'is both a file and a directory'],
  ])('%s', async (_, mode, fault) => {
    expect(await messageOf(zipBytes([manifest, { name: 'x', mode, data: Buffer.from('/etc/passwd') }]))).toBe(
      `E-ART-002 entry "x" ${fault}`,
    );
  });

  it('a file with the name of a directory, and a directory that holds data', async () => {
    expect(await messageOf(zipBytes([{ name: 'x/', mode: fileMode }]))).toContain('is both a file and a directory');
    expect(await messageOf(zipBytes([{ name: 'x/', mode: 0, data: Buffer.from('x') }]))).toContain(
      'is a directory that holds data',
    );
  });

  it('a reparse point', async () => {
    expect(await messageOf(zipBytes([{ name: 'x', mode: 0, dosAttributes: 0x400 }]))).toContain('is a link');
  });
});

describe('an archive that costs more than it may is refused', () => {
  it('more bytes than allowed in all files together', async () => {
    const half = { data: Buffer.alloc(600_000), deflate: true };
    expect(
      await messageOf(
        zipBytes([
          { name: 'a', ...half },
          { name: 'b', ...half },
        ]),
      ),
    ).toMatch(/^E-ART-003 .*unpacks to more/);
  });

  it('a bomb that declares fewer bytes than it unpacks to', async () => {
    const bytes = zipBytes([{ name: 'x', data: Buffer.alloc(50_000_000), deflate: true, size: 10, localSize: 10 }]);
    expect(bytes.length).toBeLessThan(100_000);
    expect(await messageOf(bytes)).toBe('E-ART-001 entry "x" unpacks to more bytes than it declares');
  });

  it('entries that share their data', async () => {
    expect(await messageOf(overlappingArchive())).toBe('E-ART-002 entry "a" overlaps with other data');
  });

  it('other data before the first entry, or before a directory of none', async () => {
    const message = 'E-ART-001 is not a readable zip archive: it begins with other data';
    const empty = zipBytes([]);
    expect(await messageOf(Buffer.concat([Buffer.from('#!/bin/sh\n'), moved(empty, 10)]))).toBe(message);
    const behind = zipBytes([{ ...manifest, offset: 10 }]);
    expect(await messageOf(Buffer.concat([Buffer.from('#!/bin/sh\n'), moved(behind, 10)]))).toBe(message);
    expect(await messageOf(empty)).toBe('accepted');
  });

  it('entries that a second end in the comment hides', async () => {
    const honest = zipBytes([manifest, { name: 'b', data: Buffer.from('b') }]);
    const none = withComment(honest, zipBytes([]));
    expect(await messageOf(none)).toBe(
      'E-ART-001 is not a readable zip archive: its directory does not end where the archive does',
    );
    // A directory of the first entry alone, in the comment, as it would stand behind that entry.
    const small = zipBytes([manifest]);
    const directory = small.subarray(small.readUInt32LE(small.length - 6));
    const one = withComment(honest, moved(directory, honest.length - small.readUInt32LE(small.length - 6)));
    expect(await messageOf(one)).toBe(
      'E-ART-001 is not a readable zip archive: it has other data before its directory',
    );
    expect(await unpack(withComment(honest, Buffer.from('made by hand')))).toEqual(['b', 'svc.yaml']);
  });

  it('more entries than allowed, by their number or by what the end of the archive claims', async () => {
    const many = Array.from({ length: 21 }, (_, index) => ({ name: `f${index}` }));
    expect(await messageOf(zipBytes(many))).toMatch(/^E-ART-003 holds more than 20 entries/);
    expect(await messageOf(zipBytes([manifest], { entryCount: 0xfffe }))).toMatch(/^E-ART-003/);
  });

  it('an archive file that is too large itself', async () => {
    expect(await messageOf(zipBytes([{ name: 'x', data: Buffer.alloc(100_001) }]))).toMatch(
      /^E-ART-003 is larger than/,
    );
  });
});

describe('an archive that is damaged is refused', () => {
  it('a wrong checksum', async () => {
    const bytes = zipBytes([{ name: 'x', data: Buffer.from('hello'), crc: 1 }]);
    expect(await messageOf(bytes)).toBe('E-ART-001 entry "x" has a wrong checksum');
  });

  it('encrypted entries', async () => {
    const bytes = zipBytes([{ name: 'x', flags: 0x801, data: Buffer.from('secret'), deflate: true }]);
    expect(await messageOf(bytes)).toBe('E-ART-001 entry "x" is encrypted');
  });

  it('a compression other than deflate', async () => {
    expect(await messageOf(zipBytes([{ name: 'x', method: 14 }]))).toContain('the unsupported compression method 14');
  });

  it('two different sizes for one entry', async () => {
    const bytes = zipBytes([{ name: 'x', data: Buffer.from('hello'), localSize: 6 }]);
    expect(await messageOf(bytes)).toBe('E-ART-001 entry "x" names two different sizes or checksums');
  });

  it('data that are no deflate stream, or end too early', async () => {
    expect(await messageOf(zipBytes([{ name: 'x', data: Buffer.from([0xff, 0xff]), method: 8 }]))).toContain(
      'damaged data',
    );
    const bytes = zipBytes([{ name: 'x', data: Buffer.alloc(9), deflate: true, size: 10, localSize: 10 }]);
    expect(await messageOf(bytes)).toBe('E-ART-001 entry "x" does not have the size it declares');
  });

  it('a file cut at any place, an empty file, and a file of something else', async () => {
    const whole = zipBytes([manifest, { name: 'x', data: Buffer.from('hello') }]);
    for (let length = 0; length < whole.length; length += 1) {
      expect(await codesOf(unpack(whole.subarray(0, length)))).toEqual(['E-ART-001']);
    }
    expect(await codesOf(unpack(Buffer.from('#!/bin/sh\n'.repeat(10))))).toEqual(['E-ART-001']);
  });

  it('offsets beyond what any file has', async () => {
    const bytes = zipBytes([manifest]);
    const record = bytes.length - 22;
    const zip64 = Buffer.alloc(56 + 20, 0xff);
    zip64.writeUInt32LE(0x06064b50, 0);
    zip64.writeUInt32LE(0, 16);
    zip64.writeUInt32LE(0x07064b50, 56);
    for (const offset of [BigInt(record), 0xffff_ffff_ffff_ffffn, 0x7fff_ffff_ffff_ffffn]) {
      zip64.writeBigUInt64LE(1n, 32);
      zip64.writeBigUInt64LE(offset, 56 + 8);
      const forged = Buffer.concat([bytes.subarray(0, record), zip64, bytes.subarray(record)]);
      expect(await codesOf(unpack(forged))).toEqual(['E-ART-001']);
    }
  });
});

it('any change of any bytes of an archive leaves a readable archive or a coded refusal', async () => {
  const whole = zipBytes([
    { name: 'svc.yaml', data: Buffer.from('name: a\n'.repeat(20)), deflate: true },
    { name: 'bin/', mode: 0o040755 },
    { name: 'bin/a', data: Buffer.from('#!/bin/sh\n') },
  ]);
  const change = fc.record({ at: fc.nat(whole.length - 1), to: fc.nat(255) });
  await fc.assert(
    fc.asyncProperty(fc.array(change, { minLength: 1, maxLength: 4 }), async (changes) => {
      const bytes = Buffer.from(whole);
      for (const { at, to } of changes) bytes[at] = to;
      const outcome = await unpack(bytes).then(
        () => 'unpacked',
        (error: unknown) => (error instanceof Diagnostic ? error.code : error),
      );
      expect(['unpacked', 'E-ART-001', 'E-ART-002', 'E-ART-003', 'E-IO-001']).toContain(outcome);
    }),
    { numRuns: 1500 },
  );
});

it('an archive of the own writer is read back byte for byte', async () => {
  const directory = temporaryDirectory();
  const files = [...toolFiles('echo'), { name: 'bin/echo', data: Buffer.alloc(100_000, 'x') }];
  const path = join(directory, 'echo.zip');
  await writeFile(path, await archiveBytes(files));
  const file = await RegularFile.open(path);
  const archive = await readArchive(file);
  for (const { name, data } of files) expect((await archive.read(name)).equals(data)).toBe(true);
  expect(await codesOf(archive.read('other'))).toEqual(['E-ART-004']);
  await file.close();
});

/** Two names with local headers of their own, the first claiming the data of the second as its own too. */
function overlappingArchive(): Buffer {
  const inner = zipBytes([{ name: 'b', data: Buffer.from('0123456789') }]).subarray(0, 30 + 1 + 10);
  return zipBytes([
    { name: 'a', data: inner },
    { name: 'b', data: Buffer.from('0123456789'), offset: 30 + 1 },
  ]);
}
