import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

import { afterEach, beforeEach, expect, it } from 'vitest';

import { ownPlaces, type OwnProcess } from './own-process.ts';

let folder: string;
beforeEach(() => (folder = realpathSync(mkdtempSync(join(tmpdir(), 'svc-own-process-')))));
afterEach(() => rmSync(folder, { recursive: true }));

function write(...paths: readonly string[]): void {
  for (const path of paths) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), '');
  }
}

/** What of the folder belongs to such a process, and why. */
function own(over: Partial<OwnProcess> = {}): readonly string[] {
  write('svc/package.json', 'bin/node');
  const places = ownPlaces({
    packageRoot: join(folder, 'svc'),
    node: join(folder, 'bin/node'),
    nodeOptions: [],
    cwd: folder,
    env: {},
    maps: '',
    ...over,
  });
  return places
    .filter(({ path }) => path.startsWith(folder))
    .map(({ path, what }) => [path.slice(folder.length), ...(what === null ? [] : [what])].join(' '));
}

const usual = ['/svc', '/bin/node'];

it('ownPlaces names the package and the program', () => {
  expect(own()).toEqual(usual);
});

it('ownPlaces names the folder of each library that is mapped to be run, and of nothing else that is mapped', () => {
  write('lib/libx.so.1', 'data/icu.dat');
  const line = (mode: string, path: string): string =>
    `7f00-7f01 ${mode} 00002000 fe:00 247026      ${join(folder, path)}\n`;
  const maps = [
    line('r-xp', 'bin/node'),
    line('r--p', 'data/icu.dat'),
    line('r-xp', 'lib/libx.so.1'),
    line('r-xp', 'gone/libold.so (deleted)'),
    '7f00-7f01 r-xp 00000000 00:00 0      [vdso]\n',
  ].join('');
  expect(own({ maps })).toEqual([...usual, '/lib from which node has loaded libx.so.1']);
});

it('ownPlaces names what variables of the loader, of node and of OpenSSL name, there or not', () => {
  const env = {
    LD_LIBRARY_PATH: `${folder}/one:two;$ORIGIN/../three`,
    LD_PRELOAD: `libc.so.6 ${folder}/pre/x.so`,
    NODE_PATH: `${folder}/modules:`,
    OPENSSL_CONF: `${folder}/openssl.cnf`,
    NODE_EXTRA_CA_CERTS: `${folder}/ca.pem`,
  };
  expect(own({ env })).toEqual([
    ...usual,
    '/one which LD_LIBRARY_PATH names',
    '/two which LD_LIBRARY_PATH names',
    '/three which LD_LIBRARY_PATH names',
    '/pre/x.so which LD_PRELOAD names',
    '/modules which NODE_PATH names',
    '/openssl.cnf which OPENSSL_CONF names',
    '/ca.pem which NODE_EXTRA_CA_CERTS names',
  ]);
});

it('ownPlaces takes an empty name in LD_LIBRARY_PATH for the current folder, as the loader does', () => {
  expect(own({ env: { LD_LIBRARY_PATH: '/opt/lib:' } })).toEqual([...usual, ' which LD_LIBRARY_PATH names']);
  expect(own({ env: { LD_LIBRARY_PATH: '' } })).toEqual(usual);
});

it('ownPlaces names each link on the way to a folder beside the folder', () => {
  write('real/lib/x');
  symlinkSync('real', join(folder, 'link'));
  symlinkSync('lib', join(folder, 'real/again'));
  expect(own({ env: { LD_LIBRARY_PATH: `${folder}/link/again` } })).toEqual([
    ...usual,
    '/link which LD_LIBRARY_PATH names',
    '/real/again which LD_LIBRARY_PATH names',
    '/real/lib which LD_LIBRARY_PATH names',
  ]);
});

it('ownPlaces names each link on the way to a module that an option has node load first', () => {
  write('real/trace.cjs');
  symlinkSync('real', join(folder, 'link'));
  symlinkSync('real/trace.cjs', join(folder, 'trace.cjs'));
  const named = (NODE_OPTIONS: string): readonly string[] => own({ env: { NODE_OPTIONS } }).slice(2);
  const real = '/real which NODE_OPTIONS names';
  expect(named('--require ./link/trace.cjs')).toEqual([real, '/link which NODE_OPTIONS names']);
  expect(named(`--import file://${folder}/trace.cjs`)).toEqual([real, '/trace.cjs which NODE_OPTIONS names']);
});

it('ownPlaces names the folders of modules that options have node load first', () => {
  write('tools/trace.cjs', 'hooks/load.mjs', 'node_modules/both/lib/index.js', 'node_modules/import-only/esm.mjs');
  writeFileSync(join(folder, 'node_modules/both/package.json'), '{"main":"lib/index.js"}');
  writeFileSync(join(folder, 'node_modules/import-only/package.json'), '{"exports":{"import":"./esm.mjs"}}');
  const named = (NODE_OPTIONS: string): readonly string[] => own({ env: { NODE_OPTIONS } }).slice(2);
  expect(named('--max-old-space-size=4096 --no-warnings')).toEqual([]);
  expect(named('--require "./tools/trace.cjs"')).toEqual(['/tools which NODE_OPTIONS names']);
  expect(named(`--import=file://${folder}/hooks/load.mjs`)).toEqual(['/hooks which NODE_OPTIONS names']);
  for (const module of ['both', 'import-only']) {
    expect(named(`-r ${module}`)).toEqual(['/node_modules which NODE_OPTIONS names']);
  }
  expect(own({ nodeOptions: ['--require', './tools/trace.cjs'] }).slice(2)).toEqual([
    '/tools which an option of node names',
  ]);
});
