import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

import { afterEach, beforeEach, expect, it } from 'vitest';

import { localProgram, userProgram } from './local-program.ts';

let root: string;
beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), 'svc-local-')));
  for (const place of ['project/node_modules/.bin', 'project/.venv/bin', 'project/work', 'other'])
    mkdirSync(join(root, 'home', place), { recursive: true });
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

function put(path: string, mode = 0o755, text = ''): void {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), text, { mode });
}

function link(path: string, target: string): void {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  symlinkSync(target, join(root, path));
}

function found(name: string, workdir = 'home/project/work', artifact?: string): unknown {
  const home = join(root, 'home');
  const own = artifact === undefined ? {} : { artifactDirectory: join(root, artifact) };
  const places = { manifestDirectory: join(home, 'project'), home, workdir: join(root, workdir), ...own };
  const program = localProgram(name, places);
  const shown = (path: string): string => path.replace(join(root, 'home'), '~');
  return program === null ? null : [shown(program.path), program.reads.map(shown)];
}

it('localProgram finds what npm links to, with its package and those around it', () => {
  for (const path of ['package.json', 'dist/cli.js']) put(`home/project/node_modules/tool/${path}`);
  link('home/project/node_modules/.bin/tool', '../tool/dist/cli.js');
  const reads = ['.bin/tool', 'tool', ''].map((path) => `~/project/node_modules/${path}`.replace(/\/$/, ''));
  expect(found('tool')).toEqual(['~/project/node_modules/.bin/tool', reads]);
  expect(found('absent')).toBeNull();
});

it('localProgram looks in the folder of the artifact before that of the manifest', () => {
  for (const place of ['project', 'project/own']) put(`home/${place}/node_modules/.bin/tool`);
  expect(found('tool', 'home/project/work', 'home/project/own')).toEqual([
    '~/project/own/node_modules/.bin/tool',
    ['~/project/own/node_modules/.bin/tool'],
  ]);
});

it("localProgram finds programs of a virtual environment, whose interpreter is the system's", () => {
  put('usr/bin/python3.11');
  link('home/project/.venv/bin/python', join(root, 'usr/bin/python3.11'));
  put('home/project/.venv/bin/serve');
  expect(found('python')).toMatchObject(['~/project/.venv/bin/python', ['~/project/.venv']]);
  expect(found('serve')).toMatchObject(['~/project/.venv/bin/serve', ['~/project/.venv', '~/project/.venv/bin/serve']]);
});

it('localProgram takes nothing that the agent may write, that leads away or that may not be run', () => {
  put('home/project/node_modules/.bin/tool');
  expect(found('tool', 'home/project')).toBeNull();
  put('home/other/secret');
  link('home/project/node_modules/.bin/away', '../../../other/secret');
  link('home/project/.venv/bin/away', join(root, 'home/other/secret'));
  put('home/project/work/planted');
  link('home/project/node_modules/.bin/planted', '../../work/planted');
  put('home/project/node_modules/.bin/data', 0o644);
  link('home/project/node_modules/.bin/loop', 'loop');
  expect(['away', 'planted', 'data', 'loop'].map((name) => found(name))).toEqual([null, null, null, null]);
});

const shim = (target: string): string => `#!/bin/sh
basedir=$(dirname "$0")
if [ -x "$basedir/node" ]; then
  exec "$basedir/node"  "$basedir/${target}" "$@"
else
  exec node  "$basedir/${target}" "$@"
fi
`;

it('localProgram takes the file that a shell script of pnpm starts, and none that lies elsewhere', () => {
  const place = 'home/project/node_modules/.pnpm/tool@1.0.0/node_modules/tool';
  for (const path of ['package.json', 'cli.js']) put(`${place}/${path}`);
  link('home/project/node_modules/tool', '.pnpm/tool@1.0.0/node_modules/tool');
  put('home/project/node_modules/.bin/tool', 0o755, shim('../tool/cli.js'));
  const [real, modules] = [place.replace('home', '~'), '~/project/node_modules'];
  expect(found('tool')).toEqual([`${modules}/tool/cli.js`, [`${modules}/tool/cli.js`, real, modules]]);
  put('other/cli.js');
  put('home/project/node_modules/.bin/away', 0o755, shim('../../../../other/cli.js'));
  put('home/project/work/cli.js');
  put('home/project/node_modules/.bin/agents', 0o755, shim('../../work/cli.js'));
  expect([found('away'), found('agents')]).toEqual([null, null]);
});

it('userProgram finds what pip has installed for a user, and what pnpm has for all projects', () => {
  const home = join(root, 'home');
  const places = { manifestDirectory: join(home, 'project'), home, workdir: join(home, 'project/work') };
  const on = (name: string, ...folders: readonly string[]): unknown =>
    userProgram(name, folders.map((folder) => join(root, folder)).join(':'), places);
  put('home/.local/bin/serve', 0o755, '#!/usr/bin/python3\nimport serve\n');
  put('home/.local/bin/other', 0o755, '#!/bin/sh\n');
  mkdirSync(join(home, '.local/lib/python3.11/site-packages'), { recursive: true });
  expect(on('serve', 'other', 'home/.local/bin')).toEqual({
    path: join(home, '.local/bin/serve'),
    reads: [join(home, '.local/lib/python3.11/site-packages')],
    env: { PYTHONUSERBASE: join(home, '.local') },
  });
  expect([on('other', 'home/.local/bin'), on('absent', 'home/.local/bin')]).toEqual([null, null]);
  put('other/bin/serve', 0o755, '#!/usr/bin/python3\n');
  expect(on('serve', 'other/bin')).toBeNull();
  for (const path of ['package.json', 'cli.js']) put(`other/global/node_modules/tool/${path}`);
  put('other/bin/tool', 0o755, shim('../global/node_modules/tool/cli.js'));
  expect(on('tool', 'other/bin')).toMatchObject({ path: join(root, 'other/global/node_modules/tool/cli.js') });
});
