import { linkSync, mkdirSync, readdirSync, readFileSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { constants, openSync, realpathSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, it } from 'vitest';

import { O_PATH } from '@svc/kit/files/held-directory.ts';
import { eachFolder } from '../../../../../test/support/each-folder.ts';
import type { FilesystemGuard } from '../../filesystem-guard.ts';
import type { WaitingRoom } from '../io.ts';
import { beginChanging, type Change } from './decided-changes.ts';
import type { Descriptor } from './descriptor.ts';
import { filesystem } from './filesystem.ts';

const room: WaitingRoom = { now: () => 0n, sleep: () => {}, awaitRemote: () => [] };
const follow = { symlinkFollow: true };
const read = { read: true };
const write = { read: true, write: true };

let base: string;

eachFolder('svc-decided-', (made) => {
  base = made;
  mkdirSync(join(base, 'src', 'deep'), { recursive: true });
  mkdirSync(join(base, 'config'));
  writeFileSync(join(base, 'config', 'app'), 'before');
  writeFileSync(join(base, 'src', 'a'), 'a');
});

interface Decided {
  readonly root: Descriptor;
  readonly asked: Change[];
  readonly refused: string[];
}

function opened(guard: FilesystemGuard, mayChange: (change: Change) => boolean = () => true, guestPath = '/'): Decided {
  const place = guard === 'descriptor-walk' ? openSync(base, O_PATH | constants.O_DIRECTORY) : realpathSync(base);
  const asked: Change[] = [];
  const refused: string[] = [];
  const offered = filesystem([{ guestPath, place, writable: true }], room, {
    onRefused: (path, code) => refused.push(`${path}: ${code}`),
    mayChange: (change) => {
      asked.push(change);
      return mayChange(change);
    },
  });
  const { getDirectories } = offered['wasi:filesystem/preopens'] as { getDirectories: () => [Descriptor, string][] };
  const [first] = getDirectories();
  if (first === undefined) throw new Error('no directory');
  return { root: first[0], asked, refused };
}

function refusal(operation: () => unknown): unknown {
  try {
    operation();
  } catch (error) {
    return error;
  }
  return 'allowed';
}

const shown = ({ operation, path, to, isTree, isLinked }: Change): string =>
  [operation, path, ...(to === null ? [] : [to]), ...(isTree ? ['tree'] : []), ...(isLinked ? ['linked'] : [])].join(
    ' ',
  );

describe.each<FilesystemGuard>(['descriptor-walk', 'realpath-check'])('a change that is decided under %s', (guard) => {
  it('shows the place where it happens, whatever names lead there', () => {
    symlinkSync('config', join(base, 'conf'));
    symlinkSync('config/app', join(base, 'app'));
    linkSync(join(base, 'config', 'app'), join(base, 'src', 'other'));
    const { root, asked } = opened(guard);
    const src = root.openAt({}, 'src', { directory: true }, read);
    for (const path of ['config/app', './src/..//config/./app', 'conf/app', 'app']) {
      root.openAt(follow, path, {}, write)[Symbol.dispose]();
    }
    src.openAt({}, 'other', { truncate: true }, read)[Symbol.dispose]();
    src.openAt({}, 'deep/new', { create: true }, read)[Symbol.dispose]();
    root.setTimesAt(follow, 'app', { tag: 'now' }, { tag: 'now' });
    src.createDirectoryAt('made');
    root.renameAt('src/made', root, 'conf/made');
    root.renameAt('src/a', root, 'src/b');
    root.removeDirectoryAt('config/made');
    root.symlinkAt('config', 'src/link');
    root.unlinkFileAt('src/link');
    expect(asked.map(shown)).toEqual([
      'write config/app linked',
      'write config/app linked',
      'write config/app linked',
      'write config/app linked',
      'write src/other linked',
      'write src/deep/new',
      'write config/app linked',
      'directory src/made',
      'rename src/made config/made tree',
      'rename src/a src/b',
      'directory config/made',
      'link src/link tree',
      'remove src/link',
    ]);
  });

  it('does not happen where it is refused, and is told with its path', () => {
    const { root, refused } = opened(guard, () => false);
    const attempts: readonly (() => unknown)[] = [
      () => root.openAt({}, 'config/app', { truncate: true }, write),
      () => root.openAt({}, 'config/new', { create: true, exclusive: true }, write),
      () => root.setTimesAt({}, 'config/app', { tag: 'now' }, { tag: 'now' }),
      () => root.openAt({}, 'config/app', {}, read).setTimes({ tag: 'now' }, { tag: 'now' }),
      () => root.unlinkFileAt('config/app'),
      () => root.renameAt('config/app', root, 'app'),
      () => root.createDirectoryAt('made'),
      () => root.removeDirectoryAt('src/deep'),
      () => root.symlinkAt('config', 'link'),
    ];
    expect(attempts.map((attempt) => refusal(attempt))).toEqual(
      attempts.map((_, index) => (index === 3 ? 'bad-descriptor' : 'not-permitted')),
    );
    expect(refused).toHaveLength(attempts.length - 1);
    expect(refused[0]).toBe('config/app: not-permitted');
    expect([readdirSync(base).toSorted(), readdirSync(join(base, 'config')), readdirSync(join(base, 'src'))]).toEqual([
      ['config', 'src'],
      ['app'],
      ['a', 'deep'],
    ]);
    expect(readFileSync(join(base, 'config', 'app'), 'utf8')).toBe('before');
  });

  it('needs no answer where it only reads, or cannot be', () => {
    const { root, asked } = opened(guard);
    root.openAt({}, 'config/app', {}, read)[Symbol.dispose]();
    root.openAt({}, 'config', { directory: true }, read)[Symbol.dispose]();
    expect(
      [
        () => root.openAt({}, 'config/none', {}, write),
        () => root.unlinkFileAt('none'),
        () => root.renameAt('none', root, 'src/b'),
        () => root.createDirectoryAt('config'),
        () => root.symlinkAt('src', 'config'),
        () => root.openAt(follow, '../x', { create: true }, write),
      ].map((attempt) => refusal(attempt)),
    ).toEqual(['no-entry', 'no-entry', 'no-entry', 'exist', 'exist', 'not-permitted']);
    expect(asked).toEqual([]);
  });

  it('needs another answer where a folder came to lie elsewhere meanwhile, and happens at no place that was not decided', () => {
    const answers: Record<string, boolean> = { 'src/new': true, 'config/new': false };
    const { root, asked } = opened(guard, ({ path }) => {
      if (path === 'src/new') {
        renameSync(join(base, 'src'), join(base, 'gone'));
        symlinkSync('config', join(base, 'src'));
      }
      return answers[path] === true;
    });
    expect(refusal(() => root.openAt({}, 'src/new', { create: true }, write))).toBe('not-permitted');
    expect(asked.map(({ path }) => path)).toEqual(['src/new', 'config/new']);
    expect([readdirSync(join(base, 'config')), readdirSync(join(base, 'gone'))]).toEqual([['app'], ['a', 'deep']]);
  });

  it('gives up where its place moves again and again', () => {
    let moves = 0;
    const { root } = opened(guard, () => {
      renameSync(join(base, moves === 0 ? 'src' : `at${moves}`), join(base, `at${moves + 1}`));
      moves += 1;
      if (moves > 1) renameSync(join(base, 'src'), join(base, `link${moves}`));
      symlinkSync(`at${moves}`, join(base, 'src'));
      return true;
    });
    expect(refusal(() => root.openAt({}, 'src/new', { create: true }, write))).toBe('busy');
    expect(moves).toBe(9);
  });

  it('lasts as long as the call that opened the file', () => {
    const { root, asked } = opened(guard);
    const file = root.openAt({}, 'config/app', {}, write);
    const stream = file.writeViaStream(0n);
    stream.blockingWriteAndFlush(Buffer.from('during'));
    beginChanging();
    expect(refusal(() => stream.blockingWriteAndFlush(Buffer.from('later')))).not.toBe('allowed');
    expect(refusal(() => file.write(Buffer.from('later'), 0n))).toBe('bad-descriptor');
    expect(refusal(() => file.setSize(0n))).toBe('bad-descriptor');
    expect(refusal(() => file.setTimes({ tag: 'now' }, { tag: 'now' }))).toBe('bad-descriptor');
    expect(readFileSync(join(base, 'config', 'app'), 'utf8')).toBe('during');
    expect(asked).toHaveLength(1);
  });
});

it('a change below a directory that is not the root has the path by which the component sees it', () => {
  const { root, asked, refused } = opened('descriptor-walk', () => false, '/project');
  expect(refusal(() => root.openAt({}, 'config/app', {}, write))).toBe('not-permitted');
  expect([asked[0]?.path, refused]).toEqual(['project/config/app', ['project/config/app: not-permitted']]);
});
