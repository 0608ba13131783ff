import { execFileSync } from 'node:child_process';
import {
  closeSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';

import { array, assert, constantFrom, property } from 'fast-check';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';

import { containmentClasses, type ContainmentClass } from '@svc/protocol/containment-class.ts';
import { directoryContract, regularFileContract } from '../../../../test/support/beneath-contract.ts';
import { ExportRoot, openFile } from './export-root.ts';

let base = '';
let workdir = '';

function makeBase(): void {
  base = realpathSync(mkdtempSync(join(tmpdir(), 'svc-export-')));
  workdir = join(base, 'workdir');
  mkdirSync(join(workdir, 'out', 'dir', 'sub'), { recursive: true });
  writeFileSync(join(base, 'secret.txt'), 'secret');
  writeFileSync(join(workdir, 'beside.txt'), 'beside');
  writeFileSync(join(workdir, 'out', 'a.txt'), 'a');
  writeFileSync(join(workdir, 'out', 'dir', 'b.txt'), 'b');
  writeFileSync(join(workdir, 'out', 'dir', 'sub', 'c.txt'), 'c');
}

function link(target: string, path: string): void {
  symlinkSync(target, join(workdir, 'out', path));
}

/** What is in the file, or the code it is refused with. */
function opened(path: string, achieved: ContainmentClass = 'advisory', root = 'out'): string {
  const opening = new ExportRoot({ workdir, root, achieved }).open(path);
  if (opening.kind === 'refused') return opening.code;
  const { descriptor } = opening.file;
  const text = readFileSync(descriptor, 'utf8');
  closeSync(descriptor);
  return `text ${text}`;
}

function readIn(directory: string, name: string): string | null {
  const opening = new ExportRoot({ workdir: directory, root: '.', achieved: 'scoped' }).open(name);
  if (opening.kind === 'refused') return null;
  try {
    return readFileSync(opening.file.descriptor, 'utf8');
  } finally {
    closeSync(opening.file.descriptor);
  }
}

describe('an export root', () => {
  beforeEach(makeBase);
  afterEach(() => rmSync(base, { recursive: true }));

  directoryContract('when scoped', {
    prepare: (directory, isDecoy) => writeFileSync(join(directory, 'file'), isDecoy ? 'decoy' : 'text'),
    reach: (directory) => {
      const text = readIn(directory, 'file');
      if (text === 'decoy') throw new Error('a decoy was read');
      return text;
    },
  });
  regularFileContract('when scoped, it', {
    name: 'file',
    content: 'text',
    read: (directory) => readIn(directory, 'file'),
  });

  it.each(containmentClasses)('opens regular files beneath it, at any depth, when %s', (achieved) => {
    expect(opened('a.txt', achieved)).toBe('text a');
    expect(opened('dir/sub/c.txt', achieved)).toBe('text c');
    expect(opened('out/dir/b.txt', achieved, '.')).toBe('text b');
  });

  it('has nothing where nothing is, and nothing at all while it does not exist [D3-ERR-04]', () => {
    expect(opened('none.txt')).toBe('not_found');
    expect(opened('none/none.txt')).toBe('not_found');
    expect(opened('a.txt/none')).toBe('not_found');
    expect(opened('a'.repeat(300))).toBe('not_found');
    expect(opened('a.txt', 'advisory', 'later')).toBe('not_found');
    expect(opened('none', 'advisory', 'beside.txt')).toBe('not_found');
  });

  it('refuses what is no regular file, without waiting for it [D3-PATH-06] [D3-ERR-08]', async () => {
    execFileSync('mkfifo', [join(workdir, 'out', 'fifo')]);
    const server: Server = createServer().listen(join(workdir, 'out', 'socket'));
    await once(server, 'listening');
    for (const path of ['dir', 'fifo', 'socket']) expect(opened(path)).toBe('not_a_regular_file');
    server.close();
    expect(new ExportRoot({ workdir: '/dev', root: '.', achieved: 'advisory' }).open('null')).toEqual({
      kind: 'refused',
      code: 'not_a_regular_file',
    });
  });

  it('refuses every link under scoped, and follows those that stay inside otherwise [D3-PATH-08] [D3-ERR-07]', () => {
    link('a.txt', 'to-file');
    link('dir', 'to-dir');
    link(join(workdir, 'out', 'a.txt'), 'absolute');
    link('../out/dir/../a.txt', 'around');
    for (const [path, text] of [
      ['to-file', 'text a'],
      ['to-dir/b.txt', 'text b'],
      ['absolute', 'text a'],
      ['around', 'text a'],
    ] as const) {
      expect(opened(path, 'advisory')).toBe(text);
      expect(opened(path, 'sealed')).toBe(text);
      expect(opened(path, 'scoped')).toBe('symlink_refused');
    }
  });

  it.each(containmentClasses)(
    'refuses a link that leads out, whatever is there, when %s [D3-PATH-05] [D3-PATH-09] [D3-ERR-06]',
    (achieved) => {
      link('../../secret.txt', 'to-file');
      link('..', 'up');
      link('/', 'to-root');
      link('../../none.txt', 'to-nothing');
      link('/none/none', 'to-absolute-nothing');
      link('to-file', 'to-link');
      link('dir/../../beside.txt', 'through-dir');
      for (const path of [
        'to-file',
        'up/beside.txt',
        'up/none',
        'to-root/etc/passwd',
        'to-root',
        'to-nothing',
        'to-absolute-nothing',
        'to-link',
        'through-dir',
      ]) {
        expect([path, opened(path, achieved)]).toEqual([path, 'outside_root']);
      }
    },
  );

  it('fails once it has become a link out of the workdir', () => {
    rmSync(join(workdir, 'out'), { recursive: true });
    symlinkSync('..', join(workdir, 'out'));
    expect(opened('secret.txt')).toBe('outside_root');
    expect(new ExportRoot({ workdir, root: 'out', achieved: 'advisory' }).resolve()).toEqual({
      kind: 'refused',
      code: 'outside_root',
    });
  });

  it('may itself be a link inside the workdir, in every class', () => {
    symlinkSync('out/dir', join(workdir, 'alias'));
    for (const achieved of containmentClasses) expect(opened('b.txt', achieved, 'alias')).toBe('text b');
  });

  it('differs from a directory whose name begins like its own', () => {
    mkdirSync(join(workdir, 'out-side'));
    writeFileSync(join(workdir, 'out-side', 'a.txt'), 'other');
    link('../out-side/a.txt', 'aside');
    expect(opened('aside')).toBe('outside_root');
  });

  it('fails with an error about links that lead to each other', () => {
    link('two', 'one');
    link('one', 'two');
    expect(opened('one', 'scoped')).toBe('symlink_refused');
    expect(opened('one', 'sealed')).toBe('io_error');
  });
});

describe('the last place of a path', () => {
  beforeEach(makeBase);
  afterEach(() => rmSync(base, { recursive: true }));

  // Followed, the first would be found outside from its descriptor: that is a look at another file already.
  it.each([
    ['a file outside', '../../secret.txt'],
    ['nothing', 'none'],
  ])('stays closed once it has become a link to %s [D3-PATH-06]', (_, target) => {
    link(target, 'swapped');
    const out = join(workdir, 'out');
    expect(openFile(out, join(out, 'swapped'))).toBe('changed');
  });
});

describe('any path beneath an export root', () => {
  /** A directory is a record, a link begins with an arrow. */
  type Node = string | { readonly [name: string]: Node };

  const tree = {
    'a.txt': 'a',
    dir: { 'b.txt': 'b', up: '->..', out: '->../../..', sub: { 'c.txt': 'c', back: '->../b.txt' } },
    'to-dir': '->dir',
    'to-sub': '->to-dir/sub',
    'to-file': '->dir/b.txt',
    'to-secret': '->../../secret.txt',
    nothing: '->none',
    'no-way': '->../none',
    loop: '->loop',
  } as const satisfies Node;

  beforeAll(() => {
    base = realpathSync(mkdtempSync(join(tmpdir(), 'svc-export-')));
    workdir = join(base, 'workdir');
    mkdirSync(workdir);
    writeFileSync(join(base, 'secret.txt'), 'secret');
    make(tree, join(workdir, 'out'));
  });
  afterAll(() => rmSync(base, { recursive: true }));

  function make(node: Node, path: string): void {
    if (typeof node !== 'string') {
      mkdirSync(path);
      for (const [name, child] of Object.entries(node)) make(child, join(path, name));
    } else if (node.startsWith('->')) symlinkSync(node.slice(2), path);
    else writeFileSync(path, node);
  }

  /** Walks the record: `stack` is where it stands, as names below the root. */
  function model(path: string, achieved: ContainmentClass): string {
    let pending = path.split('/');
    const stack: string[] = [];
    let links = 0;
    while (pending.length > 0) {
      const [name = '', ...rest] = pending;
      pending = rest;
      if (name === '..' && stack.length === 0) return 'outside_root';
      if (name === '..') {
        stack.pop();
        continue;
      }
      const node = at([...stack, name]);
      if (node === undefined) return links > 0 && achieved === 'scoped' ? 'symlink_refused' : 'not_found';
      if (typeof node === 'string' && node.startsWith('->')) {
        links += 1;
        if (links > 40) return achieved === 'scoped' ? 'symlink_refused' : 'io_error';
        pending = [...node.slice(2).split('/'), ...pending];
      } else stack.push(name);
    }
    if (links > 0 && achieved === 'scoped') return 'symlink_refused';
    const node = at(stack);
    return typeof node === 'string' ? `text ${node}` : 'not_a_regular_file';
  }

  function at(names: readonly string[]): Node | undefined {
    let node: Node | undefined = tree;
    for (const name of names) {
      if (node === undefined || typeof node === 'string') return undefined;
      node = Object.hasOwn(node, name) ? node[name] : undefined;
    }
    return node;
  }

  it('resolves as a walk over the tree resolves it [D3-PATH-01] [D3-PATH-05] [D3-PATH-09]', () => {
    const name = constantFrom(
      'a.txt',
      'dir',
      'b.txt',
      'up',
      'out',
      'sub',
      'c.txt',
      'back',
      'to-dir',
      'to-sub',
      'to-file',
      'to-secret',
      'nothing',
      'no-way',
      'loop',
      'none',
    );
    const seen = new Set<string>();
    const agrees = property(
      array(name, { minLength: 1, maxLength: 5 }),
      constantFrom(...containmentClasses),
      (names, achieved) => {
        const path = names.join('/');
        const outcome = opened(path, achieved);
        seen.add(outcome);
        expect([path, outcome]).toEqual([path, model(path, achieved)]);
      },
    );
    assert(agrees, { numRuns: 2000 });
    expect(seen.size).toBeGreaterThan(5);
  });
});

describe('a path that is swapped for a link while it is read', () => {
  beforeEach(makeBase);
  afterEach(() => rmSync(base, { recursive: true }));

  const swapper = `
    const { parentPort, workerData: { real, link, away } } = require('node:worker_threads');
    const { renameSync } = require('node:fs');
    let running = true;
    parentPort.on('message', () => { running = false; });
    function turn() {
      for (let round = 0; round < 200; round += 1) {
        renameSync(real, away); renameSync(link, real);
        renameSync(real, link); renameSync(away, real);
      }
      if (running) setImmediate(turn); else parentPort.close();
    }
    parentPort.postMessage('ready');
    turn();`;

  it.each([
    ['a directory on the way', 'dir', '../outside', 'dir/b.txt'],
    ['the file itself', 'a.txt', '../outside/b.txt', 'a.txt'],
  ])('%s never gives out what the link leads to [D3-PATH-06]', async (_name, swapped, target, path) => {
    mkdirSync(join(workdir, 'outside'));
    writeFileSync(join(workdir, 'outside', 'b.txt'), 'secret');
    const places = { real: join(workdir, 'out', swapped), link: join(workdir, 'link'), away: join(workdir, 'away') };
    symlinkSync(target, places.link);
    const worker = new Worker(swapper, { eval: true, workerData: places });
    await once(worker, 'message');
    const seen = new Set<string>();
    for (let reads = 0; reads < 4000; reads += 1) seen.add(opened(path));
    worker.postMessage('stop');
    await once(worker, 'exit');
    const text = swapped === 'dir' ? 'text b' : 'text a';
    expect(seen).toContain(text);
    expect(seen).toContain('outside_root');
    const harmless = new Set([text, 'outside_root', 'not_found', 'symlink_refused', 'io_error', 'not_a_regular_file']);
    expect([...seen].filter((outcome) => !harmless.has(outcome))).toEqual([]);
  });
});
