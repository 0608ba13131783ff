import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';

import { systemClock } from '@svc/kit/system-clock.ts';
import { type OpenedFolder, openProjectFolder } from './project-folder.ts';
import { isPlainConfig } from './plain-repository.ts';

let folder = '';
beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'svc-made-')));
  onTestFinished(() => rmSync(folder, { recursive: true }));
});

function open(): OpenedFolder {
  const request = { path: folder, isWorkdir: true, writable: true, keepsGit: true, own: [], splits: false };
  return openProjectFolder({ ...request, clock: systemClock, uid: process.getuid?.() ?? 0 });
}

function git(...args: readonly string[]): void {
  const who = ['-c', 'user.name=Ann', '-c', 'user.email=a@b'];
  const env = { PATH: process.env['PATH'], HOME: '/nonexistent' };
  execFileSync('git', ['-C', folder, ...who, ...args], { env, stdio: 'pipe' });
}

function moved(opened: OpenedFolder): readonly string[] | undefined {
  return opened.putAside()?.moved.map(({ from }) => from);
}

describe('the repositories of a folder', () => {
  it('stay where they were there before, and as another working tree that leads to one of them', () => {
    git('init', '-q', '.');
    git('commit', '-q', '--allow-empty', '-m', 'First');
    git('init', '-q', 'old');
    git('-C', 'old', 'config', 'core.fsmonitor', './x');
    git('init', '-q', '--bare', 'bare.git');
    git('-C', 'bare.git', 'config', 'alias.x', '!x');
    mkdirSync(join(folder, 'linked'));
    symlinkSync('../old/.git', join(folder, 'linked/.git'));
    const opened = open();
    git('worktree', 'add', '-q', 'made');
    expect(opened.putAside()).toEqual({ moved: [], left: [], unseen: null });
  });

  it('move aside where a working tree of the task leads to another one', () => {
    git('init', '-q', '.');
    git('commit', '-q', '--allow-empty', '-m', 'First');
    const opened = open();
    git('worktree', 'add', '-q', 'made');
    writeFileSync(join(folder, '.git/worktrees/made/commondir'), '../../../p\n');
    expect(moved(opened)).toEqual(['made/.git']);
  });

  it('move aside to a free name, whatever bytes are in their path', () => {
    const opened = open();
    git('init', '-q', 'sub');
    git('-C', 'sub', 'config', 'core.pager', 'x');
    mkdirSync(join(folder, 'sub/.git.made-by-task'));
    const odd = Buffer.concat([Buffer.from(`${folder}/`), Buffer.from([0xff])]);
    mkdirSync(Buffer.concat([odd, Buffer.from('/.git')]), { recursive: true });
    writeFileSync(Buffer.concat([odd, Buffer.from('/.git/config')]), '[core]\n\tpager = x\n');
    expect(moved(opened)?.toSorted()).toEqual(['sub/.git', '\u{fffd}/.git']);
    expect(readdirSync(join(folder, 'sub')).toSorted()).toEqual(['.git.made-by-task', '.git.made-by-task-2']);
    expect(readdirSync(join(folder, 'sub/.git.made-by-task-2'))).toContain('HEAD.made-by-task');
    expect(readdirSync(odd)).toEqual(['.git.made-by-task']);
    expect(moved(opened)).toEqual([]);
  });

  it.each(['config', 'hooks', 'info', 'commondir', 'remotes', 'modules'])('move aside with a link as %s', (name) => {
    const opened = open();
    git('init', '-q', 'sub');
    rmSync(join(folder, 'sub/.git', name), { recursive: true, force: true });
    symlinkSync('../elsewhere', join(folder, 'sub/.git', name));
    expect(moved(opened)).toEqual(['sub/.git']);
  });
});

describe('the configuration of a repository', () => {
  it.each([
    '',
    '[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n',
    '[remote "origin"]\n\turl = https://example.com/x.git\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n',
    '[remote "origin"]\n\turl = git@example.com:x/y.git\n[branch "main"]\n\tremote = origin\n\tmerge = refs/heads/main\n',
    '# a comment\n[user]\n\tname = Ann B\n\temail = a@b\n[init]\n\tdefaultBranch = main\n',
  ])('counts as plain: %j', (config) => {
    expect(isPlainConfig(config)).toBe(true);
  });

  it.each([
    '[core]\n\tfsmonitor = x\n',
    '[core] fsmonitor = x\n',
    '[core]\n\tbare = false\r\n',
    '[user]\n\tname = a\\\n[core]\\\nfsmonitor = x\n',
    '[user]\n\tname = "a"\n',
    '[core.x]\n\tbare = true\n',
    '[core]\n\tbare\n',
    '\uFEFF[core]\n\tbare = true\n',
    '[include]\n\tpath = x\n',
    '[core]\n\tworktree = ..\n',
    '[remote "origin"]\n\turl = ext::sh -c x\n',
    '[remote "origin"]\n\turl = x::y\n',
    '[remote "origin"]\n\turl = ../evil\n',
    '[remote "origin"]\n\turl = /evil\n',
    '[remote "origin"]\n\turl = file:///evil\n',
    '[remote "origin"]\n\turl = ssh://-oProxyCommand=x/y\n',
    '[remote "origin"]\n\turl = ssh://a@-oProxyCommand=x/y\n',
    '[remote "origin"]\n\turl = -x:y\n',
    '[remote "origin"]\n\turl = odd://x/y\n',
    '[remote "origin"]\n\tuploadpack = x\n',
    '[branch "main"]\n\tremote = ../evil\n',
    '[submodule "x"]\n\tupdate = !x\n',
  ])('does not count as plain: %j', (config) => {
    expect(isPlainConfig(config)).toBe(false);
  });
});
