import { execFileSync } from 'node:child_process';
import {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { findGit } from './git-elsewhere.ts';

let base: string;

beforeEach((context) => {
  base = realpathSync(mkdtempSync(join(tmpdir(), 'svc-git-elsewhere-')));
  context.skip(!hasGit(), 'needs git');
  git('.', 'init', '-q', 'repo');
  mkdirSync(join(base, 'repo/pkg/a'), { recursive: true });
  writeFileSync(join(base, 'repo/.gitignore'), 'out\n');
  git('repo', 'add', '.');
  git('repo', 'commit', '-qm', 'One', '--allow-empty');
});
afterEach(() => rmSync(base, { recursive: true, force: true }));

function hasGit(): boolean {
  try {
    return execFileSync('git', ['--version']).length > 0;
  } catch {
    return false;
  }
}

function git(cwd: string, ...args: readonly string[]): void {
  const own = ['-c', 'user.name=Ann', '-c', 'user.email=a@b', '-c', 'protocol.file.allow=always'];
  const env = { PATH: process.env['PATH'], HOME: base };
  execFileSync('git', [...own, ...args], { cwd: join(base, cwd), env, stdio: 'pipe' });
}

interface Over {
  readonly refused?: string;
  readonly owns?: boolean;
}

/** In a line: the data, what is around and what is read, or why not. */
function found(folder: string, { refused, owns = true }: Over = {}): string {
  const answer = findGit(join(base, folder), {
    refusalOf: (path) => (path === join(base, refused ?? '-') ? 'is your home folder' : null),
    isOwn: () => owns,
  });
  const line =
    answer.kind === 'inside'
      ? 'inside'
      : answer.kind === 'closed'
        ? `${answer.place} ${answer.why}`
        : [answer.git.data, answer.git.around ?? '-', ...answer.git.reads].join(' ');
  return line.replaceAll(base, '');
}

describe('the data of a repository outside of a folder', () => {
  it('belongs to the first working tree for another one, and to the submodule for that', () => {
    git('repo', 'worktree', 'add', '-q', '../tree');
    git('.', 'init', '-q', 'super');
    git('super', 'submodule', '--quiet', 'add', '../repo', 'sub');
    expect(found('tree')).toBe('/repo/.git -');
    expect(found('super/sub')).toBe('/super/.git/modules/sub -');
    expect(found('super')).toBe('inside');
  });

  it('comes with the working tree around a folder below its top, and with what treats files there', () => {
    writeFileSync(join(base, 'repo/pkg/.gitattributes'), '');
    symlinkSync('/etc/passwd', join(base, 'repo/pkg/.gitignore'));
    expect(found('repo/pkg/a')).toBe('/repo/.git /repo /repo/pkg/.gitattributes /repo/.gitignore');
    git('repo', 'worktree', 'add', '-q', '../tree');
    mkdirSync(join(base, 'tree/b'));
    expect(found('tree/b')).toBe('/repo/.git /tree /tree/.gitignore');
  });

  it('comes with what names the submodules beside a folder, and with no other file', () => {
    git('.', 'init', '-q', 'super');
    git('super', 'submodule', '--quiet', 'add', '../repo', 'libs/one');
    git('super', 'submodule', '--quiet', 'add', '../repo', 'docs/two');
    mkdirSync(join(base, 'super/libs/key'));
    writeFileSync(join(base, 'super/libs/key/.git'), 'secret\n');
    symlinkSync(base, join(base, 'super/out'));
    mkdirSync(join(base, 'key'));
    writeFileSync(join(base, 'key/.git'), 'gitdir: x\n');
    const more = ['libs/key', 'out/key', '../key', '/etc', '.', ''].map(
      (path) => `[submodule "x${path}"]\n\tpath = ${path}\n`,
    );
    appendFileSync(join(base, 'super/.gitmodules'), more.join(''));
    expect(found('super/docs')).toBe(
      '/super/.git /super /super/.gitmodules /super/libs/one/.git /super/libs/one/.gitignore',
    );
  });

  it('does not work where another repository lends objects, until they are taken over', () => {
    git('.', 'clone', '-q', '--shared', 'repo', 'borrower');
    const list = '/borrower/.git/objects/info/alternates';
    const lent = `/repo/.git/objects lends objects to the repository, and is not shown: git repack -ad and rm ${list} end that`;
    expect(found('borrower')).toBe(lent);
    mkdirSync(join(base, 'borrower/a'));
    expect(found('borrower/a')).toBe(lent);
    git('borrower', 'worktree', 'add', '-q', '../tree');
    expect(found('tree')).toBe(lent);
    git('borrower', 'repack', '-adq');
    rmSync(join(base, list));
    expect([found('borrower'), found('tree')]).toEqual(['inside', '/borrower/.git -']);
    writeFileSync(join(base, list), '# none\n\n../pack\n/not/there\n');
    expect(found('borrower')).toBe('inside');
  });

  it('counts in a separate directory once that names the working tree', () => {
    git('.', 'init', '-q', '--separate-git-dir=data', 'own');
    expect(found('own')).toBe(
      '/data does not say that /own is its working tree: git config --file /data/config core.worktree /own says so',
    );
    git('.', 'config', '--file', 'data/config', 'core.worktree', join(base, 'own'));
    expect(found('own')).toBe('/data -');
  });

  it('needs no mount of its own inside the folder, and without a repository', () => {
    expect(found('repo')).toBe('inside');
    mkdirSync(join(base, 'plain'));
    expect(found('plain')).toBe('inside');
    mkdirSync(join(base, 'own'));
    git('own', 'init', '-q', '--separate-git-dir=data', '.');
    expect(found('own')).toBe('inside');
    expect(found('repo/.git/hooks')).toBe('inside');
  });
});

describe('a file .git that somebody has packed into an archive', () => {
  /** An archive with this file `.git`. */
  function archive(text: string): void {
    mkdirSync(join(base, 'archive'));
    writeFileSync(join(base, 'archive/.git'), text);
  }

  it('does not lead to a repository that knows nothing of the folder', () => {
    archive('gitdir: ../repo/.git\n');
    expect(found('archive')).toBe(
      '/repo/.git does not say that /archive is its working tree: git config --file /repo/.git/config core.worktree /archive says so',
    );
  });

  it('does not lead to the place of another working tree', () => {
    git('repo', 'worktree', 'add', '-q', '../tree');
    archive(readFileSync(join(base, 'tree/.git'), 'utf8'));
    expect(found('archive')).toBe('/repo/.git/worktrees/tree does not say that /archive is its working tree');
  });

  it('does not lead on by a common directory of its own', () => {
    archive('gitdir: data\n');
    mkdirSync(join(base, 'archive/data'));
    writeFileSync(join(base, 'archive/data/HEAD'), 'ref: refs/heads/main\n');
    writeFileSync(join(base, 'archive/data/gitdir'), `${base}/archive/.git\n`);
    writeFileSync(join(base, 'archive/data/commondir'), '../../repo/.git\n');
    expect(found('archive')).toBe('/archive/data is no data of a repository');
    mkdirSync(join(base, 'archive/sub'));
    expect(found('archive/sub')).toBe('/archive/data is no data of a repository');
  });

  it.each([
    ['a folder that is no repository', 'gitdir: ../plain\n', '/plain is no data of a repository'],
    ['a place where nothing is', 'gitdir: /nowhere/x\n', '/nowhere/x is not there'],
    ['what is no such file', 'x'.repeat(100_000), '/archive/.git is not what git makes of it'],
  ])('does not lead to %s', (_, text, why) => {
    mkdirSync(join(base, 'plain'));
    archive(text);
    expect(found('archive')).toBe(why);
  });

  it('leads nowhere as a link', () => {
    mkdirSync(join(base, 'archive'));
    symlinkSync(join(base, 'repo/.git'), join(base, 'archive/.git'));
    expect(found('archive')).toBe('/archive/.git is a link that leads out of the folder');
  });
});

describe('a repository', () => {
  it('stays closed around the home of the person', () => {
    expect(found('repo/pkg/a', { refused: 'repo' })).toBe('/repo is your home folder');
  });

  it('stays closed in a folder that no agent is given', () => {
    git('repo', 'worktree', 'add', '-q', '../tree');
    expect(found('tree', { refused: 'repo/.git' })).toBe('/repo/.git is your home folder');
  });

  it('stays closed if it belongs to another user, as git refuses it', () => {
    expect(found('repo/pkg/a', { owns: false })).toBe('/repo/.git belongs to another user');
  });
});
