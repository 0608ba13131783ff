import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
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

/** Named from where it stands: as a whole the path would be too long. */
function makeDeep(tree: string, levels: number, name: string): void {
  const deep = `const [tree, levels, name] = process.argv.slice(1);
    process.chdir(tree);
    for (let n = 0; n < levels; n += 1) { fs.mkdirSync(name); process.chdir(name); }`;
  execFileSync(process.execPath, ['-e', deep, tree, String(levels), name]);
}

/** Root ignores modes. The user owns all in the folder, except for what `prepare` changes. */
async function asOrdinaryUser<Value>(act: () => Promise<Value>, prepare = (): unknown => null): Promise<Value> {
  const nobody = 65_534;
  const isRoot = process.geteuid?.() === 0;
  if (isRoot) execFileSync('chown', ['-R', `${nobody}:${nobody}`, folder]);
  prepare();
  if (isRoot) process.seteuid?.(nobody);
  try {
    return await act();
  } finally {
    if (isRoot) process.seteuid?.(0);
  }
}

describe.skipIf(!existsSync('/proc/self/fd'))('a tree that is removed (skipped without /proc)', () => {
  it('goes with files, links and names of any bytes, and what links lead to stays', async () => {
    makeVictim(3);
    const tree = join(folder, 'tree');
    mkdirSync(join(tree, 'a/b/c'), { recursive: true });
    writeFileSync(join(tree, 'a/b/file'), 'x');
    writeFileSync(Buffer.concat([Buffer.from(`${tree}/a/`), Buffer.from([0xff, 0xfe])]), 'x');
    symlinkSync(join(folder, 'victim'), join(tree, 'a/link'));
    expect(await removeTree(tree)).toBeNull();
    expect([existsSync(tree), victims()]).toEqual([false, 3]);
  });

  it('goes for an ordinary user too where its owner may neither write nor look', async () => {
    const tree = join(folder, 'tree');
    mkdirSync(join(tree, 'go/pkg/mod', ...Array.from({ length: 40 }, () => 'd')), { recursive: true });
    for (const path of ['go/pkg/file', 'go/pkg/mod/file']) writeFileSync(join(tree, path), 'x');
    execFileSync('chmod', ['-R', 'a-w', join(tree, 'go')]);
    execFileSync('chmod', ['000', join(tree, 'go/pkg/mod/d')]);
    expect(await asOrdinaryUser(() => removeTree(tree))).toBeNull();
    expect(existsSync(tree)).toBe(false);
  });

  it('goes when it is deeper than any path', async () => {
    const tree = join(folder, 'tree');
    mkdirSync(tree);
    makeDeep(tree, 1500, 'n'.repeat(255));
    expect(await removeTree(tree)).toBeNull();
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

  it('may be missing before', async () => {
    expect(await removeTree(join(folder, 'absent'))).toBeNull();
  });

  it('goes for an ordinary user too where its top may not be written and it is deeper than what is held open at once', async () => {
    const tree = join(folder, 'tree');
    mkdirSync(join(tree, ...Array.from({ length: 40 }, () => 'd')), { recursive: true });
    chmodSync(tree, 0o555);
    expect(await asOrdinaryUser(() => removeTree(tree))).toBeNull();
    expect(existsSync(tree)).toBe(false);
  });

  it('goes for an ordinary user too where its top may not even be listed', async () => {
    const tree = join(folder, 'tree');
    mkdirSync(join(tree, 'd'), { recursive: true });
    chmodSync(tree, 0o000);
    expect(await asOrdinaryUser(() => removeTree(tree))).toBeNull();
    expect(existsSync(tree)).toBe(false);
  });

  it('names the entry that another user owns, however deep it is', async (context) => {
    context.skip(process.geteuid?.() !== 0, 'needs root to make files of two users');
    const tree = join(folder, 'tree');
    const theirs = join(tree, ...Array.from({ length: 30 }, () => 'd'), 'theirs');
    mkdirSync(theirs, { recursive: true });
    writeFileSync(join(theirs, 'file'), 'x');
    writeFileSync(join(tree, 'own'), 'x');
    const removing = asOrdinaryUser(
      () => removeTree(tree),
      () => execFileSync('chown', ['-R', '0:0', theirs]),
    );
    expect(await removing).toEqual({ path: `${'d/'.repeat(30)}theirs/file`, reason: 'permission denied' });
    expect(readdirSync(tree)).toEqual(['d']);
  });

  it('keeps what is mounted in it, and names the place', async (context) => {
    makeVictim(3);
    const tree = join(folder, 'tree');
    mkdirSync(join(tree, 'a/mounted'), { recursive: true });
    const mounted = spawnSync('mount', ['--bind', join(folder, 'victim'), join(tree, 'a/mounted')]);
    context.skip(mounted.status !== 0, 'needs a user who may mount');
    try {
      expect(await removeTree(tree)).toEqual({ path: 'a/mounted', reason: 'something is mounted there, or uses it' });
      expect([victims(), statSync(join(folder, 'victim')).mode & 0o777]).toEqual([3, 0o755]);
    } finally {
      execFileSync('umount', [join(tree, 'a/mounted')]);
    }
  });

  it('names the entry that the file system keeps from being removed', async (context) => {
    const tree = join(folder, 'tree');
    mkdirSync(join(tree, 'a'), { recursive: true });
    writeFileSync(join(tree, 'a/kept'), 'x');
    const marked = spawnSync('chattr', ['+i', join(tree, 'a/kept')]);
    context.skip(marked.status !== 0, 'needs a file system with immutable files, and a user who may make one');
    try {
      expect(await removeTree(tree)).toEqual({ path: 'a/kept', reason: 'operation not permitted' });
    } finally {
      execFileSync('chattr', ['-i', join(tree, 'a/kept')]);
    }
  });

  it('stays when others write against its removal without end', async () => {
    const tree = join(folder, 'tree');
    mkdirSync(join(tree, 'a/b'), { recursive: true });
    const refill = `
      const { mkdirSync, writeFileSync } = require('node:fs');
      process.stdout.write('on\\n');
      for (;;) {
        try {
          mkdirSync(process.argv[1] + '/a/b', { recursive: true });
          for (let n = 0; n < 50; n += 1) writeFileSync(process.argv[1] + '/a/b/f' + n, '');
        } catch {}
      }`;
    const refiller = spawn(process.execPath, ['-e', refill, tree], { stdio: ['ignore', 'pipe', 'inherit'] });
    await once(refiller.stdout, 'data');
    // Either ends: the refiller makes the tree anew where the last step found it empty.
    const left = await removeTree(tree);
    refiller.kill('SIGKILL');
    await once(refiller, 'exit');
    expect(left === null || left.reason !== '').toBe(true);
    expect(await removeTree(tree)).toBeNull();
  });
});
