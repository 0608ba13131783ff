import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

import { describe, expect, it } from 'vitest';

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import type { ProjectFolder } from './launch/process-grants.ts';
import { openProjectFolder } from './project-folder.ts';
import { eachFolder } from '../../../test/support/each-folder.ts';

let shop: string;

eachFolder('svc-kept-git-', (made) => {
  shop = made;
});

function write(...paths: readonly string[]): void {
  for (const path of paths) {
    mkdirSync(dirname(join(shop, path)), { recursive: true });
    writeFileSync(join(shop, path), 'x');
  }
}

interface Over {
  readonly path?: string;
  readonly writable?: boolean;
  readonly keepsGit?: boolean;
  readonly splits?: boolean;
  readonly isReport?: boolean;
}

/** A folder that may be written, whose files are all older than a tick of the clock. */
function open(over: Over = {}): ProjectFolder {
  const clock = { now: () => Date.now() + 60_000, monotonicMs: () => 0 };
  const uid = process.geteuid?.() ?? 0;
  return openProjectFolder({
    path: shop,
    isWorkdir: false,
    writable: true,
    keepsGit: true,
    own: [],
    splits: false,
    clock,
    uid,
    ...over,
  });
}

/** Kept places, those that can be written with a slash behind them. */
function kept(folder: ProjectFolder = open()): readonly string[] {
  return folder.kept.map(({ path, writable }) => (writable ? `${path}/` : path));
}

function refusal(operation: () => unknown): string {
  try {
    operation();
  } catch (error) {
    if (error instanceof Diagnostic) return `${error.code}: ${error.message.replaceAll(shop, '/shop')}`;
    throw error;
  }
  return 'allowed';
}

const obeyed = ['branches', 'commondir', 'config', 'config.worktree', 'hooks', 'info', 'modules', 'remotes'];
const ofGit = obeyed.map((name) => `.git/${name}`);

describe('what git runs of a folder that may be written', () => {
  it('stays as it is, and what git obeys and is missing gets an empty stand-in', () => {
    write('.git/HEAD', '.git/modules/lib/config', '.git/index', '.git/ORIG_HEAD.lock', 'src/x');
    expect(kept()).toEqual(['.git/', ...ofGit]);
    expect(readdirSync(join(shop, '.git')).sort()).toEqual(['HEAD', 'ORIG_HEAD.lock', ...obeyed, 'index'].sort());
    expect(readdirSync(join(shop, '.git/hooks'))).toEqual([]);
    expect(readFileSync(join(shop, '.git/commondir'), 'utf8')).toBe('.\n');
    expect(readFileSync(join(shop, '.git/config.worktree'), 'utf8')).toBe('');
  });

  it('includes all of the repository except what git writes as it works, and what the task made itself', () => {
    write('.git/HEAD', '.git/description', '.git/annex/x');
    write('.git/objects/aa/b', '.git/rebase-merge/done', '.git/next-index-12.lock');
    const folder = open();
    expect(kept(folder)).toEqual(['.git/', ...[...ofGit, '.git/annex', '.git/description'].sort()]);
    write('.git/other');
    folder.look();
    expect(kept(folder)).not.toContain('.git/other');
  });

  it('includes what other working trees obey, except for those that the task adds', () => {
    write('.git/HEAD', '.git/worktrees/one/HEAD', '.git/worktrees/one/gitdir', '.git/worktrees/one/commondir');
    const folder = open();
    const one = ['commondir', 'config.worktree', 'gitdir', 'modules'].map((name) => `.git/worktrees/one/${name}`);
    expect(kept(folder)).toEqual(['.git/', ...ofGit, '.git/worktrees/', '.git/worktrees/one/', ...one]);
    write('.git/worktrees/two/HEAD');
    folder.look();
    expect(kept(folder).filter((path) => path.includes('two'))).toEqual([]);
  });

  it('includes each repository in a folder below that existed when the session began', () => {
    write('lib/deep/.git/HEAD', 'sub/.git');
    const folder = open();
    expect(kept(folder)).toEqual(['lib/', 'lib/deep/', 'lib/deep/.git', 'sub/', 'sub/.git']);
    write('new/.git/HEAD');
    folder.look();
    expect(kept(folder)).toHaveLength(5);
    expect(refusal(() => open({ splits: true }))).toMatch(/^E-CAP-024: .* in class sealed$/);
  });

  it('includes the file that names the repository, in a worktree, and where it leads to in the folder', () => {
    write('.git');
    expect(kept()).toEqual(['.git']);
    write('store/repo/HEAD');
    writeFileSync(join(shop, '.git'), 'gitdir: store/repo\n');
    expect(kept()).toEqual(['.git', 'store/', 'store/repo/', ...obeyed.map((name) => `store/repo/${name}`)]);
  });

  it('needs nothing where there is no repository, where nothing may be written, and where it is opened', () => {
    expect(kept()).toEqual([]);
    write('.git/HEAD');
    expect(kept(open({ writable: false }))).toEqual([]);
    expect(kept(open({ keepsGit: false }))).toEqual([]);
    expect(readdirSync(join(shop, '.git'))).toEqual(['HEAD']);
  });

  it('causes a refusal where a link leads away from it, and where nothing can be mounted', () => {
    write('elsewhere/pre-commit', '.git/HEAD');
    symlinkSync('../elsewhere', join(shop, '.git/hooks'));
    expect(refusal(open)).toMatch(/^E-CAP-024: .*: in \/shop, \.git\/hooks is a link$/);
    rmSync(join(shop, '.git/hooks'));
    expect(refusal(() => open({ splits: true }))).toMatch(/^E-CAP-024: .* in class sealed$/);
    renameSync(join(shop, '.git'), join(shop, 'git'));
    symlinkSync('git', join(shop, '.git'));
    expect(refusal(open)).toMatch(/^E-CAP-024: .*: in \/shop, \.git is a link$/);
  });
});

describe('what the configuration of a repository names in a folder that may be written', () => {
  function configured(text: string): void {
    write('.git/HEAD');
    writeFileSync(join(shop, '.git/config'), text);
  }
  const beside = (): readonly string[] => kept().filter((path) => !path.startsWith('.git/'));

  it('stays as it is: hooks, files that git reads, programs and their arguments', () => {
    write('tools/watch', 'tools/clean.js', 'conf/more', 'conf/attributes', 'deep/er/diff', 'src/x', 'own/sign', 'tool');
    configured(
      [
        '[core]',
        '\thooksPath = .husky/_ ; as husky does',
        '\tfsmonitor = "tools/watch"',
        '[include]',
        'path = ../conf/more',
        '[filter "x"] clean = node tools/clean.js %f',
        '[alias]',
        't = "!$(git rev-parse --show-toplevel)/tool"',
        '[branch "main"]',
        'description = src/x',
      ].join('\n'),
    );
    writeFileSync(
      join(shop, 'conf/more'),
      `[core]\nattributesFile = ${shop}/conf/attributes\n[diff]\nexternal = deep/\\\ner/diff\n[gpg] program = ./own/sign`,
    );
    const files = ['conf/attributes', 'conf/more', 'deep/er/diff', 'own/sign', 'tool', 'tools/clean.js', 'tools/watch'];
    const ways = ['.husky/', 'conf/', 'deep/', 'deep/er/', 'own/', 'tools/'];
    expect([...beside()].sort()).toEqual([...files, ...ways, '.husky/_'].sort());
    expect(readdirSync(join(shop, '.husky/_'))).toEqual([]);
  });

  it.each([
    ['[core] fsmonitor = tools/watch', 'core.fsmonitor names tools/watch, which is not there'],
    ['[include] path = ../absent', 'include.path names absent, which is not there'],
    ['[core] hooksPath = .', 'core.hookspath names the folder itself'],
    ['[core] hooksPath = link', 'core.hookspath names link, which is or lies behind a link'],
    ['[filter "x"] smudge = sh -c ./gone', 'filter.x.smudge names gone, which is not there'],
  ])('refuses the task with %j, which could not be kept', (text, problem) => {
    configured(text);
    symlinkSync('.git', join(shop, 'link'));
    expect(refusal(open)).toBe(`E-CAP-024: what git runs cannot be kept from this task: in /shop, ${problem}`);
  });

  it('excludes settings of other kinds', () => {
    configured(
      [
        '[user] name = "a/b c"',
        '[gitflow "prefix"] feature = feature/',
        '[core] hooksPath = /nowhere/at/all',
        '[filter "y"] clean = sed s/foo/bar/',
        '[http] proxy = http://proxy/',
      ].join('\n'),
    );
    expect(beside()).toEqual([]);
  });

  it('stays as it is also for a repository around the folder', () => {
    write('api/hooks/pre-commit', 'api/x');
    configured('[core] hooksPath = api/hooks');
    expect(kept(open({ path: join(shop, 'api') }))).toEqual(['hooks']);
  });
});

it('a folder that is the directory of a repository, or lies in one, is refused', () => {
  write('bare.git/HEAD', 'bare.git/objects/x', 'bare.git/refs/x', 'bare.git/hooks/x');
  const bare = join(shop, 'bare.git');
  const why = 'what git runs cannot be kept from this task: in';
  const what = '/shop/bare.git is the directory of a repository, which git obeys';
  expect(refusal(() => open({ path: bare }))).toBe(`E-CAP-024: ${why} /shop/bare.git, ${what}`);
  expect(refusal(() => open({ path: join(bare, 'hooks') }))).toBe(`E-CAP-024: ${why} /shop/bare.git/hooks, ${what}`);
  expect(refusal(() => open({ path: bare, keepsGit: false }))).toBe('allowed');
});

it('the directory of a repository in a folder below stays, whatever its name, except for that of the folder itself', () => {
  write('a/bare.git/HEAD', 'a/bare.git/objects/x', 'a/bare.git/refs/x', 'main/x');
  write('.bare/HEAD', '.bare/objects/x', '.bare/refs/x');
  expect(kept()).toEqual(['.bare', 'a/', 'a/bare.git']);
  writeFileSync(join(shop, '.git'), 'gitdir: ./.bare\n');
  const inOwn = obeyed.map((name) => `.bare/${name}`);
  expect(kept()).toEqual(['.bare/', ...inOwn, '.git', 'a/', 'a/bare.git']);
});

it('a report makes nothing in a repository, and names what a task would be kept from', () => {
  mkdirSync(join(shop, '.git'));
  writeFileSync(join(shop, '.git/HEAD'), 'ref: refs/heads/main\n');
  const told = kept(open({ isReport: true }));
  expect(readdirSync(join(shop, '.git'))).toEqual(['HEAD']);
  expect(told).toEqual(kept(open()));
});
