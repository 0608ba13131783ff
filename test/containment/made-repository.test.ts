import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import { afterEach, describe, expect, it, type TestContext } from 'vitest';

import { FirstMinute } from '../support/first-minute.ts';
import { giveAway, ofOneUser, sealed, type Setup } from './contained-capsule.ts';
import { needsPrograms } from './use-capsule.ts';

const opened: FirstMinute[] = [];
afterEach(async () => {
  for (const each of opened.splice(0)) await each.dispose();
});

/** As the person, with nothing in the way of it in a configuration of their own; a task may still break what it can write. */
function git(cwd: string, ...args: readonly string[]): string {
  const who = {
    GIT_AUTHOR_NAME: 'Ann',
    GIT_AUTHOR_EMAIL: 'a@b',
    GIT_COMMITTER_NAME: 'Ann',
    GIT_COMMITTER_EMAIL: 'a@b',
  };
  try {
    const env = { PATH: process.env['PATH'], HOME: '/nonexistent', ...who };
    return execFileSync('git', ['-c', 'safe.directory=*', ...args], { cwd, env, stdio: 'pipe', encoding: 'utf8' });
  } catch (error) {
    if (!(error instanceof Error && 'status' in error)) throw error;
    return '';
  }
}

function openFolder(context: TestContext, setup: Setup): FirstMinute {
  needsPrograms(context, 'git');
  const minute = new FirstMinute({ ceiling: setup.class, uid: setup.uid });
  opened.push(minute);
  minute.write({
    'a.txt': 'a\n',
    'old.git/HEAD': 'ref: refs/heads/main\n',
    'old.git/refs/x': '',
    'old.git/objects/x': '',
  });
  return minute;
}

/** Does a task whose model runs these commands, one a turn. */
async function task(minute: FirstMinute, setup: Setup, commands: readonly string[]): Promise<string> {
  if (setup.uid !== null) giveAway(minute.base, setup.uid);
  await minute.runs(...commands);
  const { code, stderr } = await minute.svc(['--write', '--allow', 'git,mv,cp,rm,mkdir,chmod,ln,touch', 'look around']);
  if (code !== 0) throw new Error(stderr);
  return stderr;
}

const program = (mark: string): string => `printf '#!/bin/sh\\ntouch ${mark}\\n' > evil; chmod 755 evil`;
const commit = 'git -c user.name=a -c user.email=a@b commit -q --allow-empty -m x';

const attempts: Readonly<Record<string, { readonly make: string; readonly moved: string; readonly inside: string }>> = {
  'a repository in a folder below that the index names': {
    make: `git init -q sub; cd sub; ${commit}; git config core.fsmonitor "$EVIL"; cd ..; git add sub`,
    moved: 'sub/.git',
    inside: '.',
  },
  'one behind a folder that nobody can list or write': {
    make: `git init -q d/sub; cd d/sub; ${commit}; git config core.fsmonitor "$EVIL"; cd ../..; git add d/sub; chmod 111 d/sub/.git d/sub d`,
    moved: 'd/sub/.git',
    inside: '.',
  },
  'one in a folder whose name is masked': {
    make: `git init -q .envs; cd .envs; ${commit}; git config core.fsmonitor "$EVIL"; cd ..; git add -f .envs`,
    moved: '.envs/.git',
    inside: '.',
  },
  'a file that leads to one': {
    make: `git init -q --separate-git-dir=$PWD/store sub; cd sub; ${commit}; git config core.fsmonitor "$EVIL"; cd ..; git add sub`,
    moved: 'sub/.git',
    inside: '.',
  },
  'a link that leads to one': {
    make: `git init -q sub; cd sub; ${commit}; git config core.fsmonitor "$EVIL"; mv .git ../store; ln -s ../store .git; cd ..; git add sub`,
    moved: 'sub/.git',
    inside: '.',
  },
  'a hook': {
    make: 'git init -q sub; cp evil sub/.git/hooks/post-index-change; touch sub/x; cd sub; git add x',
    moved: 'sub/.git',
    inside: 'sub',
  },
  'another common directory': {
    make: `git init -q sub; mkdir sub/p; cp -r sub/.git/objects sub/.git/refs sub/.git/HEAD sub/p; printf '[core]\\n\\trepositoryformatversion = 0\\n\\tfsmonitor = %s\\n' "$EVIL" > sub/p/config; echo ../p > sub/.git/commondir`,
    moved: 'sub/.git',
    inside: 'sub',
  },
  'a folder that looks like a repository': {
    make: 'git init -q --bare b; printf "[core]\\n\\tworktree = ..\\n\\tfsmonitor = %s\\n" "$EVIL" > b/config',
    moved: 'b/HEAD',
    inside: 'b',
  },
};

describe.each(ofOneUser.filter((setup) => setup.class === 'sealed'))(
  'a repository that a task made in $name',
  (setup) => {
    it.for(Object.entries(attempts))('does not make git run its program: %s', async ([, attempt], context) => {
      const minute = openFolder(context, setup);
      git(minute.folder, 'init', '-q', '.');
      git(minute.folder, 'add', 'a.txt');
      git(minute.folder, 'commit', '-qm', 'First');
      const mark = join(minute.base, 'ESCAPED');
      const stderr = await task(minute, setup, [program(mark), `EVIL=${minute.folder}/evil; ${attempt.make}`]);
      for (const place of ['.', attempt.inside])
        for (const each of ['status', 'diff']) git(join(minute.folder, place), each);
      git(join(minute.folder, attempt.inside), 'add', '.');
      expect(existsSync(mark), stderr).toBe(false);
      expect(stderr).toContain('warning[W-RUN-183]: ');
      expect(stderr).toContain(attempt.moved);
    });
  },
);

describe.each(sealed)('what a task with --write made in $name', (setup) => {
  it('does not change a folder that looked like a repository before', async (context) => {
    const minute = openFolder(context, setup);
    await task(minute, setup, ['echo x > old.git/config; mv old.git aside; echo x >> old.git/HEAD']);
    expect(readdirSync(join(minute.folder, 'old.git')).sort()).toEqual(['HEAD', 'objects', 'refs']);
    expect(readFileSync(join(minute.folder, 'old.git/HEAD'), 'utf8')).toBe('ref: refs/heads/main\n');
  });

  it('does not make git run its program by the first repository of a folder', async (context) => {
    const minute = openFolder(context, setup);
    const mark = join(minute.base, 'ESCAPED');
    const make = 'git init -q .; git config core.fsmonitor "$EVIL"';
    const stderr = await task(minute, setup, [program(mark), `EVIL=${minute.folder}/evil; ${make}`]);
    git(minute.folder, 'status');
    git(minute.folder, 'init');
    git(minute.folder, 'status');
    expect(existsSync(mark), stderr).toBe(false);
    expect(stderr).toContain('.git to .git.made-by-task');
  });

  it('stays where git finds plain settings only', async (context) => {
    const minute = openFolder(context, setup);
    const stderr = await task(minute, setup, [
      'git init -q .; git config user.name Ann; git config user.email a@b; git remote add origin https://example.com/x.git; git add a.txt; git commit -qm First',
      'git init -q sub; git init -q --bare b.git; git status --short',
    ]);
    expect(stderr).not.toContain('W-RUN-183');
    expect(git(minute.folder, 'log', '--format=%s')).toBe('First\n');
    expect(git(join(minute.folder, 'sub'), 'status')).toContain('No commits yet');
    expect(existsSync(join(minute.folder, 'b.git/HEAD'))).toBe(true);
    expect(readFileSync(join(minute.folder, 'old.git/HEAD'), 'utf8')).toBe('ref: refs/heads/main\n');
  });
});
