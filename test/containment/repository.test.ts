import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { afterEach, describe, expect, it, type TestContext } from 'vitest';

import { calls } from '@svc/testing/fake-reply.ts';
import { FirstMinute } from '../support/first-minute.ts';
import { giveAway, ofOneUser, sealed, type Setup } from './contained-capsule.ts';
import { needsPrograms } from './use-capsule.ts';

const opened: FirstMinute[] = [];
afterEach(async () => {
  for (const each of opened.splice(0)) await each.dispose();
});

/** A repository of a person, with programs in it that its configuration names, and a second working tree beside it. */
class Repository {
  readonly minute: FirstMinute;
  readonly #setup: Setup;

  constructor(context: TestContext, setup: Setup) {
    needsPrograms(context, 'git');
    this.minute = new FirstMinute({ ceiling: setup.class, uid: setup.uid });
    this.#setup = setup;
    opened.push(this.minute);
    this.minute.write({
      'a.txt': 'old\n',
      'tools/clean.sh': '#!/bin/sh\ncat\n',
      '.githooks/_/h': '',
      '.gitattributes': '*.x filter=x\n',
      'b.x': 'b\n',
    });
    chmodSync(join(this.minute.folder, 'tools/clean.sh'), 0o755);
    writeFileSync(join(this.minute.folder, '.gitconfig'), '[alias]\n\tst = status\n');
    const configured = [
      ['user.name', 'Ann'],
      ['user.email', 'ann@example.com'],
      ['extensions.worktreeConfig', 'true'],
      ['core.hooksPath', '.githooks/_'],
      ['filter.x.clean', './tools/clean.sh'],
      ['include.path', '../.gitconfig'],
    ] as const;
    this.git('init', '-q', '-b', 'main', '.');
    for (const [key, value] of configured) this.git('config', key, value);
    this.git('add', '.');
    this.git('commit', '-qm', 'First');
    this.git('worktree', 'add', '-q', '../second');
  }

  /** What marks that a program of the task ran as the person. */
  get mark(): string {
    return join(this.minute.base, 'ESCAPED');
  }

  /** As the person, who has nothing in the way of it in a configuration of their own. */
  git(...args: readonly string[]): string {
    return this.gitIn(this.minute.folder, ...args);
  }

  gitIn(cwd: string, ...args: readonly string[]): string {
    const person = {
      GIT_AUTHOR_NAME: 'Ann',
      GIT_AUTHOR_EMAIL: 'a@b',
      GIT_COMMITTER_NAME: 'Ann',
      GIT_COMMITTER_EMAIL: 'a@b',
    };
    const env = { PATH: process.env['PATH'], HOME: this.minute.home, ...person };
    return execFileSync('git', ['-c', 'safe.directory=*', ...args], { cwd, env, stdio: 'pipe', encoding: 'utf8' });
  }

  /** Does a task whose model runs these commands, one a turn. */
  async task(context: TestContext, commands: readonly string[], args: readonly string[] = []): Promise<string> {
    if (this.#setup.uid !== null) giveAway(this.minute.base, this.#setup.uid);
    await this.minute.runs(...commands);
    const allowed = ['--write', '--allow', 'git,mv,cp,rm,mkdir,chmod,ln,touch', ...args];
    const { code, stderr } = await this.minute.svc([...allowed, 'look around'], { env: { GIT_EDITOR: ':' } });
    if (code !== 0) throw new Error(stderr);
    if (process.env['REQUIRE_CONTAINMENT'] !== 'sealed')
      context.skip(this.minute.asked.tools.length === 1, 'needs a host that holds commands');
    return stderr;
  }
}

/** Makes the program that the attempts below want run, and a repository whose configuration names it. */
const planting = ({ mark, minute: { folder } }: Repository): string =>
  [
    `printf '#!/bin/sh\\ntouch ${mark}\\ncat\\n' > evil; chmod 755 evil`,
    'mkdir p; cp -r .git/objects .git/refs .git/HEAD p/',
    `printf '[core]\\n\\trepositoryformatversion = 0\\n\\tfsmonitor = ${folder}/evil\\n' > p/config`,
  ].join('\n');

const attempts: Readonly<Record<string, string>> = {
  'another common directory': 'echo ../p > c; cp c .git/commondir; mv -f c .git/commondir',
  'a configuration of the working tree': 'cp p/config .git/config.worktree; mv -f p/config .git/config.worktree',
  'another common directory of a second working tree':
    'echo ../../../p > c; cp c .git/worktrees/second/commondir; mv -f c .git/worktrees/second/commondir',
  'a configuration of a second working tree':
    'cp -r .git/worktrees w; mv .git/worktrees/second .git/x; mv .git/worktrees .git/y; cp -r w .git/worktrees; cp p/config .git/worktrees/second/config.worktree',
  'hooks where the configuration names them':
    'mv .githooks/_ g; mv .githooks h; mkdir -p .githooks/_; cp evil .githooks/_/post-index-change; cp evil .githooks/_/pre-commit',
  'another program where the configuration names one':
    'cp evil tools/clean.sh; cp evil e; mv -f e tools/clean.sh; mv tools t; mkdir tools; cp evil tools/clean.sh',
  'another file where the configuration includes one': 'cp p/config .gitconfig; mv -f p/config .gitconfig',
};

function unlessBroken(git: () => unknown): void {
  try {
    git();
  } catch (error) {
    if (!(error instanceof Error && 'status' in error)) throw error;
  }
}

describe.each(ofOneUser.filter((setup) => setup.class === 'sealed'))(
  'a program that a task may write in $name',
  (setup) => {
    it.for(Object.entries(attempts))('never runs when a person uses git, by %s', async ([, attempt], context) => {
      const repository = new Repository(context, setup);
      const { folder, base } = repository.minute;
      await repository.task(context, [planting(repository), attempt]);
      for (const cwd of [folder, join(base, 'second')]) {
        writeFileSync(join(cwd, 'b.x'), 'changed\n');
        // A task may still break what it can write.
        for (const args of [['status'], ['commit', '-qam', 'Second']])
          unlessBroken(() => repository.gitIn(cwd, ...args));
      }
      expect(existsSync(repository.mark)).toBe(false);
    });
  },
);

describe.each(sealed)('the repository of a folder that a task may write in $name', (setup) => {
  it('leaves a repository in a folder below as it is, and where it is', async (context) => {
    const repository = new Repository(context, setup);
    const { minute } = repository;
    minute.write({ 'lib/inner/x': 'x' });
    const inner = join(minute.folder, 'lib/inner');
    repository.gitIn(inner, 'init', '-q', '.');
    repository.gitIn(inner, 'add', '.');
    repository.gitIn(inner, 'commit', '-qm', 'Inner');
    const stderr = await repository.task(context, [
      planting(repository),
      'cp p/config lib/inner/.git/config; mv lib/inner/.git x; mv lib/inner y; mv lib z; mkdir -p lib/inner; cp -r p lib/inner/.git',
    ]);
    repository.gitIn(inner, 'status');
    repository.git('status');
    expect(existsSync(repository.mark), stderr).toBe(false);
  });

  it('changes no more by a tool than by a command', async (context) => {
    const repository = new Repository(context, setup);
    const { minute } = repository;
    minute.write({ 'lib/.git/HEAD': 'ref: refs/heads/main\n' });
    if (setup.uid !== null) giveAway(minute.base, setup.uid);
    const paths = [
      '.git/commondir',
      '.GIT/x',
      'lib/.git/config',
      'new/.Git/config',
      '.githooks/_/pre-commit',
      'tools/clean.sh',
      '.gitconfig',
    ];
    const edits = paths.map((path, turn) =>
      calls('svc-tool-editor', { command: 'write', path: `project/${path}`, content: 'x' }, `edit_${turn}`),
    );
    await minute.plays(
      ...edits,
      calls('svc-tool-editor', { command: 'write', path: 'project/tools/y', content: 'x' }, 'y'),
    );
    expect(await minute.svc(['--write', 'look around'])).toMatchObject({ code: 0 });
    expect(minute.results).toEqual([
      ...paths.map((path) => `project/${path.replace(/(\.Git)\/.*/, '$1')} may not be accessed`),
      'created project/tools/y (1 bytes)',
    ]);
  });

  it('gets its check in the end by svc itself, whatever git was configured to do', async (context) => {
    const repository = new Repository(context, setup);
    const stderr = await repository.task(context, [
      'echo evil >> a.txt; git update-index --assume-unchanged a.txt; mkdir sub; cp b.x sub/svc.yaml; rm b.x; touch .git/odd',
    ]);
    expect(repository.git('diff', 'a.txt')).toBe('');
    expect(stderr).toBe(
      [
        'changed: a.txt',
        'new: sub/svc.yaml',
        'removed: b.x',
        'warning[W-RUN-176]: the task made or changed what other programs obey: .git/odd, sub/svc.yaml',
        'hint: look at each before you go on there: svc runs what svc.yaml says, with your key, and git what .git says',
        'warning[W-RUN-177]: git is set not to look for changes of a.txt',
        'hint: git update-index --no-assume-unchanged --no-skip-worktree <file> shows them again',
        '',
      ].join('\n'),
    );
  });

  it('still works for git', async (context) => {
    const repository = new Repository(context, setup);
    repository.git('config', '--unset', 'core.hooksPath');
    const { minute } = repository;
    const steps = [
      'git switch -qc topic && echo t > t && git add t && git commit -qm Topic && git switch -q main && echo m > m && git add m && git commit -qm Main',
      'git switch -q topic && git rebase -q main && git rebase -q -i --exec "git status" HEAD~1 && git switch -q main && git merge -q --no-edit topic',
      'echo s > a.txt && git stash -q && git stash pop -q && git commit -qam Stashed && git cherry-pick --no-commit HEAD~1; git reset -q --hard',
      'git gc -q && git fsck --strict && git worktree add -q made && git -C made status --short && git worktree list | wc -l && git worktree remove made && git worktree prune',
      'git tag one && git notes add -m n && git pack-refs --all && git status --short',
    ];
    await repository.task(context, steps, ['--env', 'GIT_EDITOR']);
    expect(minute.results.filter((result) => !/^exit code: 0$/m.test(result))).toEqual([]);
    expect(repository.git('log', '--format=%s', '-4')).toBe('Stashed\nTopic\nMain\nFirst\n');
    expect(repository.gitIn(join(minute.base, 'second'), 'status', '--short')).toBe('');
  });
});
