import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

import { afterEach, beforeEach, expect, it } from 'vitest';

import { localProgram } from './local-program.ts';

let root: string;
beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), 'svc-local-')));
  for (const place of ['project/node_modules/.bin', 'project/.venv/bin', 'project/work', 'other'])
    mkdirSync(join(root, 'home', place), { recursive: true });
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

function put(path: string, mode = 0o755): void {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), '', { mode });
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
