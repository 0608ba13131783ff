import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readlinkSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { workdirSizeCheck } from './workdir-size.ts';

let root: string;
let workdir: string;
beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), 'svc-size-')));
  workdir = join(root, 'work/child');
  mkdirSync(join(workdir, 'deep'), { recursive: true });
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

async function check(): Promise<void> {
  await workdirSizeCheck({ workdir, maxBytes: 10, clock: { monotonicMs: () => 0 } })();
}

describe('the size of a workdir', () => {
  it('is that of all files in it, and a breach says how large it is', async () => {
    writeFileSync(join(workdir, 'file'), 'x'.repeat(4));
    writeFileSync(join(workdir, 'deep/file'), 'x'.repeat(6));
    await check();
    writeFileSync(join(workdir, 'deep/more'), 'x');
    await expect(check()).rejects.toMatchObject({
      code: 'E-RUN-028',
      message: 'the workdir holds 11 bytes, more than the 10 it may hold',
    });
  });

  it('leaves out what links in it lead to', async () => {
    writeFileSync(join(root, 'large'), 'x'.repeat(100));
    symlinkSync(join(root, 'large'), join(workdir, 'link'));
    symlinkSync(root, join(workdir, 'deep/link'));
    await expect(check()).resolves.toBeUndefined();
  });

  it.skipIf(!existsSync('/proc/self/fd')).each(['work/child', 'work'])(
    'is not that of another directory, to which a link at %s leads (skipped without /proc)',
    async (part) => {
      mkdirSync(join(root, 'elsewhere/child'), { recursive: true });
      for (const place of ['', 'child/']) writeFileSync(join(root, 'elsewhere', `${place}large`), 'x'.repeat(100));
      renameSync(join(root, part), join(root, 'moved'));
      symlinkSync(join(root, 'elsewhere'), join(root, part));
      await expect(check()).resolves.toBeUndefined();
    },
  );

  it.skipIf(!existsSync('/proc/self/fd'))(
    'holds the workdir no longer than it looks (skipped without /proc)',
    async () => {
      await check();
      const open = readdirSync('/proc/self/fd').filter((name) => existsSync(`/proc/self/fdinfo/${name}`));
      const places = open.map((name) => readlinkSync(`/proc/self/fd/${name}`));
      expect(places.filter((place) => place.startsWith(root))).toEqual([]);
    },
  );
});
