import { createHash } from 'node:crypto';
import {
  appendFileSync,
  fstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  truncateSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

import { ExportReader } from './export-reader.ts';
import type { OpenedFile } from './export-root.ts';
import { FileContents } from './file-content.ts';
import type { FileContent } from './hashed-content.ts';
import { HeldMemory, LargeContents, Spool } from './large-content.ts';
import { eachFolder } from '../../../../test/support/each-folder.ts';

let base = '';
let path = '';
let contents: FileContents;

eachFolder('svc-content-', (made) => {
  base = made;
  path = join(base, 'file');
  mkdirSync(join(base, 'spool'));
  contents = new FileContents(join(base, 'spool'));
});

/** Opened when it holds `size` times the letter `o`. */
function opened(size: number): OpenedFile {
  writeFileSync(path, 'o'.repeat(size));
  const descriptor = openSync(path, 'r');
  const { size: found, mtimeMs } = fstatSync(descriptor);
  return { descriptor, size: found, mtimeMs };
}

/** What is served of a file of one letter, as that letter and how often it is there. The hash and the length are held to it. */
async function served(file: OpenedFile): Promise<string> {
  const content = await contents.read(file);
  const bytes = await bytesOf(content);
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  expect(content).toMatchObject({ sha256, length: bytes.length });
  const letter = bytes.toString('latin1', 0, 1);
  expect(bytes.equals(Buffer.alloc(bytes.length, letter))).toBe(true);
  return `${letter}${bytes.length}`;
}

/** A copy of the bytes, which are given back. */
async function bytesOf({ body, onDone }: FileContent): Promise<Buffer> {
  const bytes = Buffer.isBuffer(body)
    ? Buffer.from(body)
    : Buffer.concat((await body.createReadStream({ start: 0 }).toArray()) as Buffer[]);
  onDone?.(true);
  return bytes;
}

describe.each([
  ['read at once', 40_000],
  ['held in memory', 90_000],
  ['spooled', 8 * 1024 * 1024 + 5],
])('a file %s that changes after it was opened', (_way, size) => {
  it('still has the size of its opening after it grew [D3-CONS-01]', async () => {
    const file = opened(size);
    appendFileSync(path, 'n'.repeat(1000));
    expect(await served(file)).toBe(`o${size}`);
  });

  it('ends at its new end after it shrank [D3-CONS-03]', async () => {
    const file = opened(size);
    truncateSync(path, 1234);
    expect(await served(file)).toBe('o1234');
  });

  it('has no bytes after somebody emptied it [D3-CONS-03]', async () => {
    const file = opened(size);
    truncateSync(path, 0);
    expect(await served(file)).toBe('0');
  });

  it('has its new bytes after somebody rewrote it in place [D3-CONS-03]', async () => {
    const file = opened(size);
    writeFileSync(path, 'n'.repeat(size + 1000));
    expect(await served(file)).toBe(`n${size}`);
  });

  it('keeps its bytes after somebody removed it [D3-CONS-01]', async () => {
    const file = opened(size);
    unlinkSync(path);
    expect(await served(file)).toBe(`o${size}`);
  });

  it('keeps its bytes after somebody renamed another over it [D3-CONS-02]', async () => {
    const file = opened(size);
    writeFileSync(join(base, 'aside'), 'n'.repeat(size));
    renameSync(join(base, 'aside'), path);
    expect(await served(file)).toBe(`o${size}`);
    expect(readdirSync(join(base, 'spool'))).toEqual([]);
  });

  it('keeps the bytes of its digest while they are sent [D3-CONS-01]', async () => {
    const content = await contents.read(opened(size));
    writeFileSync(path, 'n'.repeat(size));
    truncateSync(path, 10);
    const bytes = await bytesOf(content);
    expect(bytes.equals(Buffer.alloc(size, 'o'))).toBe(true);
  });
});

describe('buffers for files', () => {
  const mebibyte = 1024 * 1024;

  it('have one user at a time, and serve the next after their return', async () => {
    const first = await contents.read(opened(mebibyte));
    const second = await contents.read(opened(mebibyte));
    const memoryOf = ({ body }: FileContent): unknown => (Buffer.isBuffer(body) ? body.buffer : null);
    expect(memoryOf(first)).toBeInstanceOf(ArrayBuffer);
    expect(memoryOf(second)).not.toBe(memoryOf(first));
    first.onDone?.(true);
    const third = await contents.read(opened(mebibyte - 100_000));
    expect(memoryOf(third)).toBe(memoryOf(first));
    // Somebody may still be about to look at these.
    second.onDone?.(false);
    expect(memoryOf(await contents.read(opened(mebibyte)))).not.toBe(memoryOf(second));
  });

  it('has a budget; beyond it files are spooled until some is given back', async () => {
    const held: FileContent[] = [];
    for (let index = 0; index < 4; index += 1) held.push(await contents.read(opened(8 * mebibyte)));
    expect(held.map(({ body }) => Buffer.isBuffer(body))).toEqual([true, true, true, true]);
    const beyond = await contents.read(opened(70_000));
    expect(Buffer.isBuffer(beyond.body)).toBe(false);
    expect((await bytesOf(beyond)).equals(Buffer.alloc(70_000, 'o'))).toBe(true);
    held[2]?.onDone?.(false);
    expect(Buffer.isBuffer((await contents.read(opened(70_000))).body)).toBe(true);
  });
});

const mebibyte = 1024 * 1024;

describe('held buffers', () => {
  it('come in few sizes, each large enough for the request', () => {
    const memory = new HeldMemory();
    const sizes = [1, 65_537, 131_072, 131_073, mebibyte, mebibyte + 1, 8 * mebibyte];
    expect(sizes.map((size) => memory.take(size)?.length)).toEqual([
      131_072, 131_072, 131_072, 262_144, 1_048_576, 2_097_152, 8_388_608,
    ]);
  });

  it('ends at 32 MiB, until some is given back', () => {
    const memory = new HeldMemory();
    const taken = Array.from({ length: 32 }, () => memory.take(mebibyte));
    expect(taken).not.toContain(undefined);
    expect(memory.take(1)).toBeUndefined();
    memory.giveBack(taken[0] ?? Buffer.alloc(0), false);
    expect(memory.take(1)?.length).toBe(131_072);
  });

  it('serve again when they are free, up to 8 MiB of them', () => {
    const memory = new HeldMemory();
    const taken = Array.from({ length: 10 }, () => memory.take(mebibyte) ?? Buffer.alloc(0));
    for (const buffer of taken) memory.giveBack(buffer, true);
    const again = Array.from({ length: 10 }, () => memory.take(mebibyte) ?? Buffer.alloc(0));
    expect(again.filter((buffer) => taken.includes(buffer))).toHaveLength(8);
    expect(new Set(again).size).toBe(10);
  });

  it('wait while a reader may still see them', () => {
    const memory = new HeldMemory();
    const taken = memory.take(mebibyte) ?? Buffer.alloc(0);
    memory.giveBack(taken, false);
    expect(memory.take(mebibyte) === taken).toBe(false);
  });
});

describe('what readers have asked for and not taken', () => {
  it.each([
    ['files', { bytes: Number.MAX_SAFE_INTEGER, files: 2 }],
    ['bytes', { bytes: 20 * 1024 * 1024, files: 100 }],
  ])('occupies at most so many %s, and makes room once a reader takes it', async (_, limits) => {
    const few = new LargeContents(new Spool(join(base, 'spool'), limits));
    const large = 9 * 1024 * 1024;
    const held = [await few.read(opened(large)), await few.read(opened(large))];
    await expect(few.read(opened(large))).rejects.toMatchObject({ code: 'EDQUOT' });
    // To who asks, it is like any read that has failed.
    const reader = new ExportReader({
      workdir: base,
      root: '.',
      maxBytes: large,
      achieved: 'advisory',
      generation: () => 0,
      contents: few,
    });
    expect(await reader.read('file', {})).toMatchObject({ outcome: 'io_error', reply: { status: 500 } });
    for (const content of held) expect((await bytesOf(content)).length).toBe(large);
    expect((await bytesOf(await few.read(opened(large)))).length).toBe(large);
  });
});
