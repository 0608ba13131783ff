import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';

import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { removeTree } from './remove-tree.ts';

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'remove-tree-'));
});
afterEach(() => {
  execFileSync('rm', ['-rf', folder]);
});

const victims = (): number => readdirSync(join(folder, 'victim')).length;

function makeVictim(files: number): void {
  mkdirSync(join(folder, 'victim'));
  for (let count = 0; count < files; count += 1) writeFileSync(join(folder, 'victim', `f${count}`), '');
}

describe.skipIf(!existsSync('/proc/self/fd'))('a tree that is removed (skipped without /proc)', () => {
  it('is gone with files, links and names of any bytes, and what links lead to stays', async () => {
    makeVictim(3);
    const tree = join(folder, 'tree');
    mkdirSync(join(tree, 'a/b/c'), { recursive: true });
    writeFileSync(join(tree, 'a/b/file'), 'x');
    writeFileSync(Buffer.concat([Buffer.from(`${tree}/a/`), Buffer.from([0xff, 0xfe])]), 'x');
    symlinkSync(join(folder, 'victim'), join(tree, 'a/link'));
    expect(await removeTree(tree)).toBe(true);
    expect([existsSync(tree), victims()]).toEqual([false, 3]);
  });

  it('is gone for an ordinary user too where its owner may neither write nor look', async () => {
    const tree = join(folder, 'tree');
    mkdirSync(join(tree, 'go/pkg/mod', ...Array.from({ length: 40 }, () => 'd')), { recursive: true });
    for (const path of ['go/pkg/file', 'go/pkg/mod/file']) writeFileSync(join(tree, path), 'x');
    const nobody = 65_534;
    const isRoot = process.geteuid?.() === 0;
    if (isRoot) execFileSync('chown', ['-R', `${nobody}:${nobody}`, folder]);
    execFileSync('chmod', ['-R', 'a-w', join(tree, 'go')]);
    execFileSync('chmod', ['000', join(tree, 'go/pkg/mod/d')]);
    if (isRoot) process.seteuid?.(nobody);
    try {
      expect(await removeTree(tree)).toBe(true);
    } finally {
      if (isRoot) process.seteuid?.(0);
    }
    expect(existsSync(tree)).toBe(false);
  });

  it('is gone when it is deeper than any path', async () => {
    const tree = join(folder, 'tree');
    mkdirSync(tree);
    // Named from where it stands: as a whole the path would be too long.
    const deep = `process.chdir(process.argv[1]);
      for (let n = 0; n < 1500; n += 1) { fs.mkdirSync('dddddddddd'); process.chdir('dddddddddd'); }`;
    execFileSync(process.execPath, ['-e', deep, tree]);
    expect(await removeTree(tree)).toBe(true);
    expect(existsSync(tree)).toBe(false);
  });

  it('leads nowhere else while another process swaps its directories with links', async () => {
    makeVictim(200);
    const swap = `
      const { mkdirSync, renameSync, symlinkSync } = require('node:fs');
      const [tree, victim] = process.argv.slice(1);
      const attempt = (step, ...names) => { try { step(...names.map((name) => tree + '/' + name)); } catch {} };
      process.stdout.write('on\\n');
      for (const end = Date.now() + 5000; Date.now() < end; ) {
        attempt(mkdirSync, 'd');
        attempt((link) => symlinkSync(victim, link), 'l');
        for (let n = 0; n < 20; n += 1) {
          attempt(renameSync, 'd', 'x');
          attempt(renameSync, 'l', 'd');
          attempt(renameSync, 'd', 'l');
          attempt(renameSync, 'x', 'd');
        }
      }`;
    const tree = join(folder, 'tree');
    mkdirSync(tree);
    const swapper = spawn(process.execPath, ['-e', swap, tree, join(folder, 'victim')], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    await once(swapper.stdout, 'data');
    while (swapper.exitCode === null) {
      await removeTree(tree);
      mkdirSync(tree, { recursive: true });
      await setImmediate();
    }
    expect(victims()).toBe(200);
  }, 30_000);

  it('stays, and says so, where nothing is', async () => {
    expect(await removeTree(join(folder, 'absent'))).toBe(false);
  });
});
