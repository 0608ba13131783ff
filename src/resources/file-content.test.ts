import { createHash } from 'node:crypto';
import {
  appendFileSync,
  fstatSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  truncateSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import type { OpenedFile } from './export-root.ts';
import { FileContents } from './file-content.ts';
import { Spool } from './spool.ts';

let base = '';
let path = '';
let contents: FileContents;

beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), 'svc-content-'));
  path = join(base, 'file');
  mkdirSync(join(base, 'spool'));
  contents = new FileContents(new Spool(join(base, 'spool')));
});

afterEach(() => rmSync(base, { recursive: true }));

/** Opened when it holds `size` times the letter `o`. */
function opened(size: number): OpenedFile {
  writeFileSync(path, 'o'.repeat(size));
  const descriptor = openSync(path, 'r');
  const { size: found, mtimeMs } = fstatSync(descriptor);
  return { descriptor, size: found, mtimeMs };
}

/** What is served of a file of one letter, as that letter and how often it is there. The hash and the length are held to it. */
async function served(file: OpenedFile): Promise<string> {
  const { body, sha256, length } = await contents.read(file);
  const bytes = Buffer.isBuffer(body) ? body : Buffer.concat((await body.toArray()) as Buffer[]);
  expect({ sha256, length }).toEqual({
    sha256: createHash('sha256').update(bytes).digest('hex'),
    length: bytes.length,
  });
  const letter = bytes.toString('latin1', 0, 1);
  expect(bytes.equals(Buffer.alloc(bytes.length, letter))).toBe(true);
  return `${letter}${bytes.length}`;
}

describe.each([
  ['read at once', 40_000],
  ['held in memory', 90_000],
  ['spooled', 8 * 1024 * 1024 + 5],
])('a file %s that changes after it was opened', (_way, size) => {
  it('and grows is served up to the size it had [D3-CONS-01]', async () => {
    const file = opened(size);
    appendFileSync(path, 'n'.repeat(1000));
    expect(await served(file)).toBe(`o${size}`);
  });

  it('and shrinks is served up to its end [D3-CONS-03]', async () => {
    const file = opened(size);
    truncateSync(path, 1234);
    expect(await served(file)).toBe('o1234');
  });

  it('and is emptied is served empty [D3-CONS-03]', async () => {
    const file = opened(size);
    truncateSync(path, 0);
    expect(await served(file)).toBe('0');
  });

  it('and is rewritten in place is served as it is now [D3-CONS-03]', async () => {
    const file = opened(size);
    writeFileSync(path, 'n'.repeat(size + 1000));
    expect(await served(file)).toBe(`n${size}`);
  });

  it('and is removed is served whole [D3-CONS-01]', async () => {
    const file = opened(size);
    unlinkSync(path);
    expect(await served(file)).toBe(`o${size}`);
  });

  it('and is renamed over is served as it was [D3-CONS-02]', async () => {
    const file = opened(size);
    writeFileSync(join(base, 'aside'), 'n'.repeat(size));
    renameSync(join(base, 'aside'), path);
    expect(await served(file)).toBe(`o${size}`);
    expect(readdirSync(join(base, 'spool'))).toEqual([]);
  });

  it('and changes while its bytes are on their way is served as it was hashed [D3-CONS-01]', async () => {
    const { body } = await contents.read(opened(size));
    writeFileSync(path, 'n'.repeat(size));
    truncateSync(path, 10);
    const bytes = Buffer.isBuffer(body) ? body : Buffer.concat((await body.toArray()) as Buffer[]);
    expect(bytes.equals(Buffer.alloc(size, 'o'))).toBe(true);
  });
});
