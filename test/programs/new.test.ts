import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { afterEach, describe, expect, it } from 'vitest';

import { installAuthorPackages } from '../support/author-packages.ts';
import { svc } from '../support/svc-process.ts';
import { makeWorkspace, type Workspace } from '../support/workspace.ts';

const checkout = fileURLToPath(new URL('../../', import.meta.url));
const workspaces: Workspace[] = [];
afterEach(() => {
  for (const workspace of workspaces.splice(0)) workspace.remove();
});

function emptyWorkspace(files: Readonly<Record<string, string>> = {}): Workspace {
  const workspace = makeWorkspace(files);
  workspaces.push(workspace);
  return workspace;
}

/** A folder for PATH. */
function nothingButDirname(): string {
  const { folder } = emptyWorkspace();
  const dirname = execFileSync('sh', ['-c', 'command -v dirname'], { encoding: 'utf8' }).trim();
  symlinkSync(dirname, join(folder, 'dirname'));
  return folder;
}

// Building a component takes a second or so of a machine that does nothing else.
describe('svc new', { timeout: 120_000 }, () => {
  it.each(['tool', 'hook', 'driver'])('makes a %s whose types fit and that builds as it is', async (kind) => {
    const workspace = emptyWorkspace();
    const made = await svc(workspace, ['new', kind, 'my-part']);
    const folder = join(workspace.folder, 'my-part');
    expect(made).toMatchObject({
      code: 0,
      stdout: `${folder}\n`,
      stderr: 'next: cd my-part && npm install && svc build, after every change of component.ts\n',
    });
    installAuthorPackages(folder);
    execFileSync(join(checkout, 'node_modules', '.bin', 'tsc'), { cwd: folder });
    const built = await svc(workspace, ['build', 'my-part', '--json']);
    expect(built.stderr).toBe('');
    expect(JSON.parse(built.stdout)).toMatchObject({ name: 'my-part', version: '0.1.0', kind });
  });

  it('copies no library: the folder depends on @svc/guest, whose tarball lies in it', async () => {
    const workspace = emptyWorkspace();
    const { stdout } = await svc(workspace, ['new', 'tool', 'lean', '--json']);
    expect((JSON.parse(stdout) as { readonly files: readonly string[] }).files).toEqual([
      'component.ts',
      'svc.yaml',
      'package.json',
      'tsconfig.json',
      '.gitignore',
      'vendor/svc-guest-0.4.0.tgz',
    ]);
    const folder = join(workspace.folder, 'lean');
    expect(JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))).toMatchObject({
      dependencies: { '@svc/guest': 'file:vendor/svc-guest-0.4.0.tgz' },
    });
    expect(readFileSync(join(folder, 'vendor', 'svc-guest-0.4.0.tgz'))).toEqual(
      readFileSync(join(checkout, 'dist', 'guest', 'svc-guest-0.4.0.tgz')),
    );
  });

  it.each([
    {
      language: 'rust',
      source: 'src/lib.rs',
      refusal:
        'build.sh: cargo is not installed\nhint: install Rust with rustup, then run: rustup target add wasm32-wasip2\n',
    },
    {
      language: 'python',
      source: 'app.py',
      refusal: 'build.sh: componentize-py is not installed\nhint: run: pip install componentize-py==0.25.1\n',
    },
    {
      language: 'c',
      source: 'tool.c',
      refusal:
        'build.sh: clang-19 is not installed\n' +
        'hint: on Debian: apt-get install clang-19 lld-19 libclang-rt-19-dev-wasm32 wasi-libc; elsewhere, CLANG=<program> names one with these\n',
    },
  ])('makes a tool in $language, whose build.sh names what is not installed', async ({ language, source, refusal }) => {
    const workspace = emptyWorkspace();
    const made = await svc(workspace, ['new', 'tool', 'other', '--lang', language, '--json']);
    const { files } = JSON.parse(made.stdout) as { readonly files: readonly string[] };
    expect(files).toEqual(
      expect.arrayContaining([
        source,
        'build.sh',
        'svc.yaml',
        '.gitignore',
        'wit/worlds.wit',
        'wit/deps/svc-tool/tool.wit',
      ]),
    );
    const folder = join(workspace.folder, 'other');
    for (const file of files) expect(readFileSync(join(folder, file), 'utf8')).not.toContain('{{name}}');
    const build = spawnSync('/bin/sh', ['build.sh'], {
      cwd: folder,
      encoding: 'utf8',
      env: { PATH: nothingButDirname() },
    });
    expect({ status: build.status, stderr: build.stderr }).toEqual({ status: 1, stderr: refusal });
  });

  it('writes no hook and no driver in another language', async () => {
    const { code, stderr } = await svc(emptyWorkspace(), ['new', 'hook', 'other', '--lang', 'rust']);
    expect({ code, stderr }).toEqual({ code: 2, stderr: 'error: --lang rust makes a tool\n' });
  });

  it('makes a folder that is not built before npm install, which svc build says', async () => {
    const workspace = emptyWorkspace();
    await svc(workspace, ['new', 'tool', 'early']);
    const folder = join(workspace.folder, 'early');
    expect(await svc(workspace, ['build', 'early'])).toMatchObject({
      code: 1,
      stdout: '',
      stderr:
        `error[E-ART-011]: component.ts is built with @svc/guest, esbuild and componentize-qjs, not installed in ${folder}\n` +
        'hint: run npm install there; svc new writes a package.json that names the versions that svc is tested with\n',
    });
  });

  it('makes a capsule that runs as it is', async () => {
    const workspace = emptyWorkspace();
    const made = await svc(workspace, ['new', 'capsule', 'first']);
    expect(made.stderr).toBe('next: cd first && svc run --task "Say hello"\n');
    const run = await svc(workspace, [
      'run',
      '--manifest',
      'first/svc.yaml',
      '--workdir',
      'desk',
      '--task',
      'Say hello',
    ]);
    expect(run).toMatchObject({ code: 0, stderr: '' });
    expect(readFileSync(join(workspace.folder, 'desk', 'out', 'result.txt'), 'utf8')).toBe('Nothing to do yet.');
  });

  it('keeps what runs leave beside a capsule out of git, and its secrets', async () => {
    const workspace = emptyWorkspace();
    const folder = join(workspace.folder, 'first');
    mkdirSync(folder);
    const own = { ...workspace, folder };
    const made = await svc(own, ['new', 'capsule', 'first', '--dir', '.']);
    expect(made.stderr).toBe('next: svc run --task "Say hello"\n');
    expect((await svc(own, ['run', '--task', 'Say hello'])).code).toBe(0);
    expect((await svc(own, ['test', '--record', 'greets'])).code).toBe(0);
    mkdirSync(join(folder, '.svc', 'acp'));
    for (const file of ['.env', '.svc/acp/kept', '.svc/config.yaml']) writeFileSync(join(folder, file), '\n');
    execFileSync('git', ['init', '-q'], { cwd: folder });
    execFileSync('git', ['add', '-A'], { cwd: folder });
    expect(execFileSync('git', ['ls-files'], { cwd: folder, encoding: 'utf8' }).trimEnd().split('\n')).toEqual([
      '.gitignore',
      '.svc/config.yaml',
      'script.yaml',
      'svc.lock',
      'svc.yaml',
      'tests/greets/expect.yaml',
      'tests/greets/session.zip',
    ]);
  });

  it('makes a skill that builds as it is', async () => {
    const workspace = emptyWorkspace();
    expect((await svc(workspace, ['new', 'skill', 'letters'])).stderr).toBe(
      'next: write letters/skill.md, then svc build letters\n',
    );
    expect((await svc(workspace, ['build', 'letters'])).code).toBe(0);
  });

  it('names the versions of the packages that the bundled components are built with', async () => {
    const workspace = emptyWorkspace();
    await svc(workspace, ['new', 'tool', 'exact']);
    const versions = ['componentize-qjs', 'esbuild', 'typescript'].map((name) => {
      const text = readFileSync(join(checkout, 'node_modules', name, 'package.json'), 'utf8');
      return [name, (JSON.parse(text) as { readonly version: string }).version];
    });
    const made = JSON.parse(readFileSync(join(workspace.folder, 'exact', 'package.json'), 'utf8')) as unknown;
    expect(made).toMatchObject({
      name: 'exact',
      private: true,
      devDependencies: Object.fromEntries(versions) as unknown,
    });
  });

  it('has what it writes from in the package, without the tests', () => {
    const listing = execFileSync('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], { cwd: checkout });
    const [packed] = JSON.parse(listing.toString('utf8')) as [{ readonly files: readonly { readonly path: string }[] }];
    const paths = packed.files
      .map(({ path }) => path)
      .filter((path) => /^(packages|artifacts|dist\/guest)\//.test(path));
    expect(paths).toEqual(
      expect.arrayContaining(['packages/svc/templates/tool/component.ts', 'dist/guest/svc-guest-0.4.0.tgz']),
    );
    expect(paths.filter((path) => path.endsWith('.test.ts'))).toEqual([]);
  });

  it('writes into the folder of --dir, beside what is there, and lists its files with --json', async () => {
    const workspace = emptyWorkspace({ 'here/README.md': 'mine\n' });
    const { code, stdout, stderr } = await svc(workspace, ['new', 'skill', 'tone', '--dir', 'here', '--json']);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(JSON.parse(stdout)).toEqual({
      path: join(workspace.folder, 'here'),
      name: 'tone',
      kind: 'skill',
      files: ['skill.md', 'svc.yaml'],
    });
    expect(readdirSync(join(workspace.folder, 'here')).sort()).toEqual(['README.md', 'skill.md', 'svc.yaml']);
  });

  it('writes nothing where one of its files is there already', async () => {
    const workspace = emptyWorkspace({ 'mine/tsconfig.json': '{}\n' });
    const { code, stdout, stderr } = await svc(workspace, ['new', 'tool', 'mine']);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toBe(
      `error[E-IO-001]: ${workspace.folder}/mine/tsconfig.json is there already, and nothing was written\n` +
        'hint: name another folder with --dir\n',
    );
    expect(readdirSync(join(workspace.folder, 'mine'))).toEqual(['tsconfig.json']);
    expect(readFileSync(join(workspace.folder, 'mine', 'tsconfig.json'), 'utf8')).toBe('{}\n');
  });

  it.skipIf(process.getuid?.() !== 0)(
    'leaves nothing that it wrote on a full disk, and all else (needs root, to mount one)',
    async () => {
      const workspace = emptyWorkspace();
      const small = join(workspace.folder, 'small');
      mkdirSync(small);
      execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=32k', 'tmpfs', small]);
      try {
        mkdirSync(join(small, 'mine'));
        writeFileSync(join(small, 'mine', 'README.md'), 'mine\n');
        for (const folder of ['mine', 'deep/er']) {
          const { code, stdout, stderr } = await svc(workspace, ['new', 'tool', 'echo', '--dir', `small/${folder}`]);
          expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
          expect(stderr).toMatch(
            /^error\[E-IO-001\]: cannot write .*: no space left on the device\nhint: free some space/,
          );
          expect(readdirSync(small, { recursive: true, encoding: 'utf8' }).sort()).toEqual(['mine', 'mine/README.md']);
        }
        execFileSync('mount', ['-o', 'remount,size=4m', small]);
        expect((await svc(workspace, ['new', 'tool', 'echo', '--dir', 'small/mine'])).code).toBe(0);
      } finally {
        execFileSync('umount', [small]);
      }
    },
  );

  it.each([
    ['Echo'],
    ['-echo'],
    ['echo-'],
    ['../echo', '--dir names the folder: svc new tool echo --dir "../echo"\n'],
    ['e'.repeat(101)],
  ])('refuses the name %s', async (name, hint = 'a name has at most 100 characters') => {
    const workspace = emptyWorkspace();
    const { code, stderr } = await svc(workspace, ['new', 'tool', '--', name]);
    expect(code).toBe(1);
    expect(stderr).toMatch(/^error\[E-MAN-003\]: the name ".+" .+\nhint: /);
    expect(stderr).toContain(hint);
    expect(existsSync(join(workspace.folder, name))).toBe(false);
  });

  it('refuses a kind that there is not, naming those there are', async () => {
    const { code, stderr } = await svc(emptyWorkspace(), ['new', 'plugin', 'echo']);
    expect(code).toBe(2);
    expect(stderr).toContain('capsule, tool, hook, driver, skill');
  });
});
