import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, it, type TestContext } from 'vitest';

import { canMount, mountSmall } from '../../packages/artifacts/test/store/small-file-system.ts';
import { asOneself, shell } from './contained-capsule.ts';
import { needsPrograms, openCapsule } from './use-capsule.ts';

/** Folders beside that of the manifest, as `--project` names them. */
const places: readonly { readonly title: string; readonly path: string; readonly make: (base: string) => void }[] = [
  { title: 'a second working tree', path: 'tree', make: repositories },
  { title: 'a submodule', path: 'super/sub', make: repositories },
  { title: 'a folder below the root of a repository', path: 'repo/pkg', make: repositories },
  {
    title: 'a folder behind a link',
    path: 'link',
    make: (base) => {
      repositories(base);
      symlinkSync('repo', join(base, 'link'));
    },
  },
  {
    title: 'a folder of 20,000 files',
    path: 'huge',
    make: (base) => {
      for (let directory = 0; directory < 100; directory += 1) {
        mkdirSync(join(base, 'huge', String(directory)), { recursive: true });
        for (let file = 0; file < 200; file += 1)
          writeFileSync(
            join(base, 'huge', String(directory), directory === 3 && file === 7 ? '.env' : String(file)),
            'of-the-person',
          );
      }
      writeFileSync(join(base, 'huge', 'note'), 'of the shop\n');
    },
  },
  {
    title: 'a folder that nobody may write in',
    path: 'closed',
    make: (base) => {
      mkdirSync(join(base, 'closed'));
      writeFileSync(join(base, 'closed', 'note'), 'of the shop\n');
      chmodSync(join(base, 'closed'), 0o555);
    },
  },
];

function repositories(base: string): void {
  const git = (cwd: string, ...args: readonly string[]): void => {
    const own = ['-c', 'user.name=K', '-c', 'user.email=k@example.com', '-c', 'protocol.file.allow=always'];
    execFileSync('git', [...own, ...args], { cwd: join(base, cwd), stdio: 'pipe' });
  };
  mkdirSync(join(base, 'repo/pkg'), { recursive: true });
  for (const name of ['note', 'pkg/note']) writeFileSync(join(base, 'repo', name), 'of the shop\n');
  git('.', 'init', '-q', '-b', 'main', 'repo');
  git('repo', 'add', '.');
  git('repo', 'commit', '-qm', 'First');
  git('repo', 'worktree', 'add', '-q', '../tree', '-b', 'second');
  git('.', 'init', '-q', '-b', 'main', 'super');
  git('super', 'submodule', '--quiet', 'add', '../repo', 'sub');
}

describe.each(asOneself)('an odd folder in $name', (setup) => {
  async function looked(
    context: TestContext,
    path: string,
    prepare: (base: string) => void,
  ): Promise<{ readonly note: string; readonly made: string; readonly base: string }> {
    needsPrograms(context, 'git');
    const capsule = await openCapsule(context, setup, {
      calls: [
        shell('note', `cat note${path === 'huge' ? ' 3/8; cat 3/7 3/.env' : '; git log --format=%s 2> /dev/null'}`),
        shell('made', 'echo x > made'),
      ],
      capabilities: 'project: {}\nshell: { allow: [bash, cat, git] }',
      args: ['--project', path.startsWith('/') ? path : `../${path}`],
      prepare: ({ folder }) => {
        prepare(join(folder, '..'));
        return {};
      },
    });
    const [note, made] = await Promise.all(['note', 'made'].map(async (id) => (await capsule.result(id)).text));
    return { note: note ?? '', made: made ?? '', base: join(capsule.workspace.folder, '..') };
  }

  it.for(places)('can be $title', { timeout: 60_000 }, async ({ path, make }, context) => {
    const { note, made, base } = await looked(context, path, make);
    expect(note).toContain('of the shop\n');
    if (['tree', 'super/sub', 'repo/pkg', 'link'].includes(path)) expect(note).toContain('First');
    if (path === 'huge') expect(note.match(/of-the-person/g)).toHaveLength(1);
    expect(made).toMatch(/Read-only file system|Permission denied/);
    expect(existsSync(join(base, path, 'made'))).toBe(false);
  });

  it.skipIf(!canMount)('can be on another file system (needs root, to mount one)', async (context) => {
    const place = mountSmall(1024);
    writeFileSync(join(place, 'note'), 'of the shop\n');
    const { note, made } = await looked(context, place, () => {});
    expect(note).toContain('of the shop\n');
    expect(made).toMatch(/Read-only file system|Permission denied/);
    expect(readdirSync(place)).toEqual(['note']);
  });
});
