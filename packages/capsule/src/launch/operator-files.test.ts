import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

import { describe, expect, it } from 'vitest';

import { operatorFiles } from './operator-files.ts';
import { eachFolder } from '../../../../test/support/each-folder.ts';

let root: string;
eachFolder('svc-operator-', (made) => {
  root = made;
  for (const path of [
    'home/project/.env',
    'home/project/svc.yaml',
    'home/project/driver.mjs',
    'home/project/work/x.mjs',
  ])
    put(path);
});

function put(path: string): void {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), '');
}

function named(...words: readonly string[]): { readonly words: readonly string[]; readonly reads: readonly string[] } {
  const home = join(root, 'home');
  const manifestDirectory = join(home, 'project');
  const found = operatorFiles(words, { manifestDirectory, home, workdir: join(manifestDirectory, 'work') });
  const shown = (path: string): string => path.replace(root, '');
  return { words: found.words.map(shown), reads: found.reads.map(shown) };
}

describe('the files that an operator names in a command', () => {
  it('stand beside the manifest, and appear with their whole paths', () => {
    const found = { words: ['node', '/home/project/driver.mjs'], reads: ['/home/project/driver.mjs'] };
    expect(named('node', './driver.mjs')).toEqual(found);
    expect(named('node', 'driver.mjs')).toEqual(found);
    expect(named('node', join(root, 'home/project/driver.mjs'))).toEqual(found);
  });

  it('exclude words that name no file, options among them', () => {
    expect(named('node', '--import=./driver.mjs', 'run', './gone.mjs', './work')).toEqual({
      words: ['node', '--import=./driver.mjs', 'run', './gone.mjs', './work'],
      reads: [],
    });
  });

  it('come with their package', () => {
    for (const path of ['package.json', 'bin/driver.mjs', 'lib/part.mjs']) put(`home/project/driver/${path}`);
    expect(named('./driver/bin/driver.mjs').reads).toEqual([
      '/home/project/driver/bin/driver.mjs',
      '/home/project/driver',
    ]);
  });

  it('come with the packages around an installed one', () => {
    for (const path of ['pkg/package.json', 'pkg/cli.mjs', 'dependency/index.js']) put(`opt/node_modules/${path}`);
    expect(named('node', join(root, 'opt/node_modules/pkg/cli.mjs')).reads).toEqual([
      '/opt/node_modules/pkg/cli.mjs',
      '/opt/node_modules/pkg',
      '/opt/node_modules',
    ]);
  });

  it('come with the project of a Python file, or with its folder, and with less of a workspace', () => {
    for (const path of ['tool/pyproject.toml', 'tool/app/main.py', 'plain/main.py', 'plain/part.py'])
      put(`opt/${path}`);
    expect(named('python3', join(root, 'opt/tool/app/main.py')).reads).toEqual(['/opt/tool/app/main.py', '/opt/tool']);
    expect(named('python3', join(root, 'opt/plain/main.py')).reads).toEqual(['/opt/plain/main.py', '/opt/plain']);
    for (const path of ['pyproject.toml', '.venv/pyvenv.cfg', 'src/x.py', 'main.py', 'data.csv'])
      put(`home/project/${path}`);
    expect(named('python3', 'main.py').reads).toEqual([
      '/home/project/main.py',
      '/home/project/pyproject.toml',
      '/home/project/.venv',
      '/home/project/src',
    ]);
  });

  it('do not open the workspace where that is the package, nor a package with keys in it', () => {
    put('home/project/package.json');
    put('home/project/node_modules/dependency/index.js');
    expect(named('node', './driver.mjs').reads).toEqual([
      '/home/project/driver.mjs',
      '/home/project/package.json',
      '/home/project/node_modules',
    ]);
    for (const path of ['package.json', '.env', 'driver.mjs']) put(`opt/${path}`);
    expect(named('node', join(root, 'opt/driver.mjs')).reads).toEqual(['/opt/driver.mjs', '/opt/package.json']);
  });

  it('do not open a home, or what is above one, that has a package.json', () => {
    put('home/package.json');
    put('package.json');
    put('home/driver.mjs');
    expect(named('node', '../driver.mjs').reads).toEqual(['/home/driver.mjs']);
    expect(named('node', './driver.mjs').reads).toEqual(['/home/project/driver.mjs']);
  });

  it('never include keys of the workspace or of the user, whatever link leads there', () => {
    put('home/project/.svc/config.yaml');
    symlinkSync('.env', join(root, 'home/project/link.mjs'));
    symlinkSync('.svc', join(root, 'home/project/node_modules'));
    put('home/project/package.json');
    for (const word of ['./.env', './link.mjs', './.svc/config.yaml']) expect(named('node', word).reads).toEqual([]);
    expect(named('node', './driver.mjs').reads).toEqual(['/home/project/driver.mjs', '/home/project/package.json']);
  });

  it('exclude the workdir, which the agent writes, and links that it puts there', () => {
    symlinkSync('../driver.mjs', join(root, 'home/project/work/link.mjs'));
    for (const word of ['./work/x.mjs', './work/link.mjs']) expect(named('node', word).reads).toEqual([]);
  });

  it('exclude what a link beside the manifest opens elsewhere', () => {
    for (const path of ['.netrc', 'other/package.json', 'other/index.js']) put(`home/${path}`);
    symlinkSync('../.netrc', join(root, 'home/project/data.json'));
    symlinkSync('../other/index.js', join(root, 'home/project/part.mjs'));
    for (const word of ['./data.json', './part.mjs']) expect(named('node', word).reads).toEqual([]);
    symlinkSync('../.netrc', join(root, 'home/project/package.json'));
    for (const [index, target] of ['../other', '..', '../..', '/'].entries()) {
      rmSync(join(root, 'home/project/node_modules'), { force: true });
      symlinkSync(target, join(root, 'home/project/node_modules'));
      expect(named('node', './driver.mjs').reads, `link ${index}`).toEqual(['/home/project/driver.mjs']);
    }
  });

  it('include what a link leads to among installed packages', () => {
    for (const path of ['tool/package.json', 'tool/cli.mjs']) put(`home/all/node_modules/${path}`);
    put('home/project/package.json');
    symlinkSync('../all/node_modules', join(root, 'home/project/node_modules'));
    symlinkSync('../all/node_modules/tool/cli.mjs', join(root, 'home/project/tool.mjs'));
    expect(named('node', './driver.mjs').reads).toEqual([
      '/home/project/driver.mjs',
      '/home/project/package.json',
      '/home/project/node_modules',
    ]);
    expect(named('node', './tool.mjs').reads).toEqual([
      '/home/project/tool.mjs',
      '/home/all/node_modules/tool',
      '/home/all/node_modules',
    ]);
  });

  it('lie in the directory of an artifact that is its source, and nowhere else', () => {
    for (const path of ['srv/server.mjs', 'srv/lib/tool.mjs', 'package.json', 'node_modules/x/index.js'])
      put(`home/other/${path}`);
    symlinkSync(join(root, 'home/project/driver.mjs'), join(root, 'home/other/srv/link.mjs'));
    const home = join(root, 'home');
    const artifactDirectory = join(home, 'other/srv');
    const places = {
      manifestDirectory: join(home, 'project'),
      home,
      workdir: join(home, 'project/work'),
      artifactDirectory,
    };
    const driver = join(home, 'project/driver.mjs');
    const words = ['node', './server.mjs', 'lib/tool.mjs', '../../project/driver.mjs', driver, './link.mjs'];
    const { reads } = operatorFiles(words, places);
    expect(reads.map((path) => path.replace(root, ''))).toEqual([
      '/home/other/srv/server.mjs',
      '/home/other/package.json',
      '/home/other/node_modules',
      '/home/other/srv/lib/tool.mjs',
    ]);
  });
});
