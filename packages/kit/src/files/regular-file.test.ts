import { execFileSync } from 'node:child_process';
import { readdirSync, readlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

import { chunksOfFile } from './regular-file.ts';
import { unlessRefused } from './unless-refused.ts';
import { eachFolder } from '../../../../test/support/each-folder.ts';

let folder: string;
eachFolder('svc-regular-', (made) => {
  folder = made;
});

async function bytesOf(path: string): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of chunksOfFile(path)) chunks.push(chunk);
  return Buffer.concat(chunks);
}

describe('the bytes of a file', () => {
  it('come whole, in pieces', async () => {
    const path = join(folder, 'file');
    const bytes = Buffer.alloc(300_000, 'some bytes ');
    writeFileSync(path, bytes);
    expect((await bytesOf(path)).equals(bytes)).toBe(true);
    writeFileSync(path, '');
    expect(await bytesOf(path)).toHaveLength(0);
  });

  it('leave nothing open behind, also when the reader stops early', async (context) => {
    context.skip(process.platform !== 'linux', 'needs /proc');
    const path = join(folder, 'file');
    writeFileSync(path, Buffer.alloc(300_000));
    const isOpen = (): boolean =>
      readdirSync('/proc/self/fd').some((fd) => unlessRefused(() => readlinkSync(`/proc/self/fd/${fd}`), '') === path);
    for await (const chunk of chunksOfFile(path)) {
      expect([chunk.length > 0, isOpen()]).toEqual([true, true]);
      break;
    }
    expect(isOpen()).toBe(false);
    await bytesOf(path);
    expect(isOpen()).toBe(false);
  });

  it('cannot come from a missing file or a pipe, for whose writer nobody waits', async () => {
    const path = join(folder, 'nothing');
    await expect(bytesOf(path)).rejects.toMatchObject({
      code: 'E-IO-001',
      message: `cannot open ${path}: no such file or directory`,
    });
    const pipe = join(folder, 'pipe');
    execFileSync('mkfifo', [pipe]);
    for (const other of [pipe, folder, '/dev/zero'])
      await expect(bytesOf(other)).rejects.toMatchObject({
        code: 'E-IO-001',
        message: `cannot open ${other}: it is not a regular file`,
      });
  });
});
