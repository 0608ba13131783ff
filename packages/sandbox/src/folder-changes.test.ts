import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, renameSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

import { describe, expect, it } from 'vitest';

import { systemClock } from '@svc/kit/system-clock.ts';
import type { FolderChanges } from './folder-changes.ts';
import { openProjectFolder } from './project-folder.ts';
import { eachFolder } from '../../../test/support/each-folder.ts';

let shop: string;

eachFolder('svc-changes-', (made) => {
  shop = made;
});

function write(files: Readonly<Record<string, string>>): void {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(shop, path)), { recursive: true });
    writeFileSync(join(shop, path), text);
  }
}

/** The report on what `task` does. The kernel's clock goes on first: what was made before the task has to show an earlier time. */
function changesOf(task: () => void, clock = systemClock): FolderChanges {
  const probe = join(shop, 'probe');
  writeFileSync(probe, '');
  const madeMs = statSync(probe).ctimeMs;
  do writeFileSync(probe, 'x');
  while (statSync(probe).ctimeMs < madeMs + 100);
  rmSync(probe);
  const folder = openProjectFolder({
    path: shop,
    isWorkdir: false,
    writable: true,
    keepsGit: true,
    own: [],
    splits: false,
    clock,
    uid: 0,
  });
  task();
  const changes = folder.changes();
  if (changes === null) throw new Error('the folder may be written');
  return changes;
}

/** Without the classes that count. */
const plain = (changes: FolderChanges): unknown => JSON.parse(JSON.stringify(changes));
const none = { names: [], count: 0 };
const only = (...names: readonly string[]) => ({ names, count: names.length });

describe('the report on a folder', () => {
  it('has each file that was changed, made or removed, whatever times it shows', () => {
    write({ 'a.txt': 'a', 'b.txt': 'b', 'sub/c': 'c', 'sub/deep/d': 'd', 'x/e': 'e' });
    const changes = changesOf(() => {
      const { atime, mtime } = statSync(join(shop, 'a.txt'));
      write({ 'a.txt': 'A', 'new/f': 'f', '.env': 'x' });
      utimesSync(join(shop, 'a.txt'), atime, mtime);
      rmSync(join(shop, 'b.txt'));
      renameSync(join(shop, 'x'), join(shop, 'y'));
      rmSync(join(shop, 'sub/deep'), { recursive: true });
    });
    expect(plain(changes)).toEqual({
      changed: only('a.txt'),
      made: only('.env', 'new/f', 'y/e'),
      removed: only('b.txt', 'x/e', 'sub/deep/d'),
      obeyed: none,
      hidden: none,
      unseen: null,
    });
  });

  it('names the first five of each kind, and their number', () => {
    const { made } = changesOf(() => write(Object.fromEntries(Array.from({ length: 12 }, (_, at) => [`f${at}`, '']))));
    expect(made.names).toHaveLength(5);
    expect(made.count).toBe(12);
  });

  it('names what other programs obey: svc.yaml, .svc, .git, and what git does not write', () => {
    write({ '.git/HEAD': 'x', 'old/svc.yaml': 'x', 'same/svc.yaml': 'x', '.git/odd': 'x', 'lib/.git/HEAD': 'x' });
    const { obeyed } = changesOf(() =>
      write({
        'svc.yaml': 'x',
        'old/svc.yaml': 'y',
        '.svc/sessions/x': 'x',
        'sub/.git': 'gitdir: elsewhere',
        '.git/index': 'x',
        '.git/ORIG_HEAD': 'x',
        '.git/other': 'x',
        'lib/.git/other': 'x',
      }),
    );
    const found = ['.git/other', '.svc', 'lib/.git/other', 'old/svc.yaml', 'sub/.git', 'svc.yaml'];
    expect([...obeyed.names].sort()).toEqual(found);
  });

  it('has a note where a directory cannot be read, and where the clock was set back', (context) => {
    const back = { ...systemClock, now: () => nowMs };
    let nowMs = Date.now();
    expect(changesOf(() => (nowMs -= 60_000), back).unseen).toBe('the clock was set back meanwhile');
    context.skip(process.getuid?.() === 0, 'root may read every directory');
    const { unseen } = changesOf(() => {
      write({ 'closed/x': 'x' });
      chmodSync(join(shop, 'closed'), 0);
    });
    chmodSync(join(shop, 'closed'), 0o700);
    expect(unseen).toBe('closed cannot be read');
  });

  it.each([
    ['2', 'sha1', []],
    ['3', 'sha1', []],
    ['4', 'sha1', []],
    ['2', 'sha256', []],
    ['2', 'sha1', ['update-index', '--split-index']],
  ])('names files that an index of version %s with %s %j hides from git', (version, format, more) => {
    const git = (...args: readonly string[]): unknown => execFileSync('git', args, { cwd: shop, stdio: 'pipe' });
    git('init', '-q', `--object-format=${format}`, '.');
    write({ 'a.txt': 'a', 'sub/bb.txt': 'b', 'sub/bc.txt': 'c', 'sub/sparse': 's' });
    git('add', '.');
    git('update-index', '--skip-worktree', 'sub/sparse');
    git('update-index', '--index-version', version);
    if (more.length > 0) git(...more);
    const { hidden, unseen } = changesOf(() => {
      git('update-index', '--assume-unchanged', 'a.txt');
      git('update-index', '--skip-worktree', 'sub/bc.txt');
    });
    expect(unseen).toBeNull();
    expect(hidden.count).toBe(2);
    if (more.length === 0) expect([...hidden.names].sort()).toEqual(['a.txt', 'sub/bc.txt']);
  });

  it('says that an invalid index cannot be read', () => {
    write({ '.git/HEAD': 'x' });
    expect(changesOf(() => write({ '.git/index': 'DIRC\0\0\0\u0002\uFFFF' })).unseen).toBe('.git/index cannot be read');
  });
});
