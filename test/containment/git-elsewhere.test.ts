import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { afterEach, describe, expect, it, type TestContext } from 'vitest';

import { FirstMinute } from '../support/first-minute.ts';
import { giveAway, scoped, sealed, type Setup } from './contained-capsule.ts';
import { output, told } from './first-minute-task.ts';
import { needsPrograms } from './use-capsule.ts';

const opened: FirstMinute[] = [];
afterEach(async () => {
  for (const each of opened.splice(0)) await each.dispose();
});

/** So that git compares neither owners nor other times. */
const steady = [
  ['core.checkStat', 'minimal'],
  ['core.trustctime', 'false'],
] as const;

/** Repositories of Kim: one with folders below its top and a second working tree, and one with it as a submodule. */
class Repositories {
  readonly minute: FirstMinute;
  readonly #setup: Setup;

  constructor(context: TestContext, setup: Setup) {
    needsPrograms(context, 'git');
    this.minute = new FirstMinute({ ceiling: setup.class, uid: setup.uid });
    this.#setup = setup;
    opened.push(this.minute);
    writeFileSync(join(this.minute.home, '.gitconfig'), '[user]\n\tname = Kim\n\temail = kim@example.com\n');
    this.minute.write({ 'repo/pkg/a/f': 'f\n', 'repo/secret': 'SECRET\n', 'repo/.gitignore': 'out\n' });
    this.git('.', 'init', '-q', '-b', 'main', 'repo');
    // The tests give the files to another user after git has recorded owner and times.
    for (const [key, value] of steady) this.git('repo', 'config', key, value);
    for (const file of ['pkg/a/f', 'secret', '.gitignore'])
      utimesSync(join(this.minute.folder, 'repo', file), 1e9, 1e9);
    this.git('repo', 'add', '.');
    this.git('repo', 'commit', '-qm', 'One');
    this.git('repo', 'worktree', 'add', '-q', '../tree', '-b', 'second');
    this.git('.', 'init', '-q', '-b', 'main', 'super');
    this.git('super', 'submodule', '--quiet', 'add', '../repo', 'sub');
  }

  git(cwd: string, ...args: readonly string[]): string {
    const env = { PATH: process.env['PATH'], HOME: this.minute.home };
    const own = ['-c', 'safe.directory=*', '-c', 'protocol.file.allow=always'];
    const options = { cwd: join(this.minute.folder, cwd), env, stdio: 'pipe', encoding: 'utf8' } as const;
    return execFileSync('git', [...own, ...args], options);
  }

  /** A task in a folder of these; what is said on standard error. */
  async task(
    context: TestContext,
    folder: string,
    { commands, args }: Record<'commands' | 'args', readonly string[]>,
  ): Promise<string> {
    if (this.#setup.uid !== null) giveAway(this.minute.base, this.#setup.uid);
    const { minute } = this;
    await minute.runs(...commands);
    const end = await minute.svc([...args, 'look around'], { cwd: join(minute.folder, folder) });
    if (end.code !== 0 || end.stdout !== 'Done.\n') throw new Error(end.stderr);
    if (process.env['REQUIRE_CONTAINMENT'] !== 'sealed')
      context.skip(minute.asked.tools.length <= 1, 'needs a host that holds commands');
    return end.stderr;
  }
}

const write = ['--write', '--allow', 'git,mkdir,mv,touch'];

describe.each(sealed)('a repository whose data lies outside of the folder in $name', (setup) => {
  it.for(['tree', 'super/sub', 'repo/pkg/a'])('takes commits of the person in %s', async (folder, context) => {
    const repositories = new Repositories(context, setup);
    const stderr = await repositories.task(context, folder, {
      commands: [
        'git status --short; echo x > new && mkdir out && touch out/x && git add -A && git commit -qam Two && git status --short && git log --format=%s',
        'echo evil > "$(git rev-parse --git-common-dir)/hooks/post-commit"; git config core.pager evil',
      ],
      args: write,
    });
    const [done, hostile] = told(repositories.minute);
    expect(done).toMatch(/^exit code: 0\nstdout:\nTwo\nOne\nstderr:/);
    expect(hostile).toMatch(/Read-only file system[^]*could not write config file/);
    expect(stderr).toMatch(/^new: new, out\/x\nrefused: /);
    expect(repositories.git(folder, 'log', '-1', '--format=%an %ae %cn %s %d')).toMatch(
      /^Kim kim@example.com Kim Two {2}\(HEAD -> /,
    );
    expect(repositories.git(folder, 'show', '--name-only', '--format=')).toBe(
      `${folder === 'repo/pkg/a' ? 'pkg/a/' : ''}new\n${folder === 'repo/pkg/a' ? '' : ''}`,
    );
    expect(repositories.git(folder, 'status', '--short')).toBe('');
  });

  it('takes commits in a folder beside a submodule', async (context) => {
    const repositories = new Repositories(context, setup);
    repositories.minute.write({ 'super/docs/f': 'f\n' });
    for (const file of ['docs/f', 'sub/pkg/a/f', 'sub/secret', 'sub/.gitignore'])
      utimesSync(join(repositories.minute.folder, 'super', file), 1e9, 1e9);
    for (const at of ['super', 'super/sub'])
      for (const [key, value] of steady) repositories.git(at, 'config', key, value);
    repositories.git('super/sub', 'update-index', '-q', '--refresh');
    repositories.git('super', 'add', '.');
    repositories.git('super', 'commit', '-qm', 'One');
    await repositories.task(context, 'super/docs', {
      commands: ['git status --short; echo x > new && git add new && git commit -qm Two && git log --format=%s'],
      args: write,
    });
    expect(told(repositories.minute)[0]).toMatch(/^exit code: 0\nstdout:\nTwo\nOne\nstderr: \(empty\)/);
    expect(repositories.git('super', 'show', '--name-only', '--format=')).toBe('docs/new\n');
  });

  it('stays as it is without --write, and shows the names around the folder and no content', async (context) => {
    const repositories = new Repositories(context, setup);
    const stderr = await repositories.task(context, 'repo/pkg/a', {
      commands: [
        'git log --format=%s; git status --short',
        'git commit -qm Two --allow-empty; touch x',
        'cat ../../secret; ls ../..; cat ../../.gitignore; cp ../../secret $TMPDIR/s; echo t > $TMPDIR/t && cat $TMPDIR/t; echo x > ../../new; git -C ../.. commit -qam x',
      ],
      args: ['--allow', 'git,cp,touch'],
    });
    const [read, written, around] = told(repositories.minute);
    expect(read).toMatch(/^exit code: 0\nstdout:\nOne\nstderr:/);
    expect(written).toMatch(/Read-only file system/);
    expect(around).not.toContain('SECRET');
    expect(around).toMatch(
      /stdout:\npkg\nsecret\nout\nt\nstderr:[^]*secret: Permission denied[^]*secret[^]*Permission denied/,
    );
    expect(stderr).toContain('refused: ./a (read only): --write');
    expect(repositories.git('repo', 'log', '--format=%s')).toBe('One\n');
    const [start = ''] = repositories.minute.ofSession('trace.jsonl').split('\n');
    const { folder } = repositories.minute;
    expect(JSON.parse(start)).toMatchObject({
      effective_grants: {
        project_folder: { git: { path: join(folder, 'repo/.git'), writable: false, around: join(folder, 'repo') } },
      },
    });
  });

  it('stays out of sight without --allow git, and behind a .git that somebody made up', async (context) => {
    const repositories = new Repositories(context, setup);
    const { folder } = repositories.minute;
    await repositories.task(context, 'tree', { commands: [`ls ${folder}/repo/.git`], args: [] });
    expect(told(repositories.minute)[0]).toContain('No such file or directory');
    mkdirSync(join(folder, 'archive'));
    writeFileSync(join(folder, 'archive/.git'), `gitdir: ${folder}/repo/.git\n`);
    const stderr = await repositories.task(context, 'archive', {
      commands: ['git log --format=%s', `ls ${folder}/repo/.git`],
      args: write,
    });
    expect(told(repositories.minute).join('\n')).toMatch(/not a git repository[^]*No such file or directory/);
    expect(repositories.minute.asked.system).toContain('git does not work in this folder.');
    expect(stderr).toContain(
      `warning[W-RUN-184]: git does not work in ./archive: "${folder}/repo/.git" does not say that ${folder}/archive is its working tree`,
    );
    const why: unknown = expect.stringMatching(/^does not say that .* is its working tree/);
    const { sessions } = repositories.minute;
    const starts = sessions.map((id) => repositories.minute.ofSession('trace.jsonl', id).split('\n')[0] ?? '');
    expect(starts.map((start) => JSON.parse(start) as unknown)).toContainEqual(
      expect.objectContaining({
        effective_grants: expect.objectContaining({
          project_folder: expect.objectContaining({ closed_git: { path: `${folder}/repo/.git`, why } }) as unknown,
        }) as unknown,
      }),
    );
  });

  it('takes hooks of a task with --write-git', async (context) => {
    const repositories = new Repositories(context, setup);
    const commands = ['echo mine > "$(git rev-parse --git-common-dir)/hooks/post-commit"'];
    await repositories.task(context, 'tree', { commands, args: ['--write-git', '--allow', 'git'] });
    expect(readFileSync(join(repositories.minute.folder, 'repo/.git/hooks/post-commit'), 'utf8')).toBe('mine\n');
  });
});

describe.each(scoped)('a repository whose data lies outside of the folder in $name', (setup) => {
  it('shows its log, and takes commits with --write-git alone', async (context) => {
    const repositories = new Repositories(context, setup);
    const commands = ['git log --format=%s; git status --short', 'git commit -qm Two --allow-empty'];
    await repositories.task(context, 'repo/pkg/a', { commands, args: write });
    const [read, written] = told(repositories.minute);
    expect(read).toMatch(/^exit code: 0\nstdout:\nOne\nstderr:/);
    expect(written).toMatch(/Permission denied/);
    await repositories.task(context, 'tree', { commands, args: ['--write-git', '--allow', 'git'] });
    expect(told(repositories.minute)).toEqual([output('One'), output('(empty)')]);
    expect(repositories.git('tree', 'log', '--format=%s %an')).toBe('Two Kim\nOne Kim\n');
    expect(existsSync(join(repositories.minute.folder, 'repo/new'))).toBe(false);
  });
});
