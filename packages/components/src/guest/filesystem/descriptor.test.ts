import { execFileSync } from 'node:child_process';
import {
  constants,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';

import { beforeEach, describe, expect, it } from 'vitest';

import type { GivenDirectory } from '../../exchange.ts';
import type { FilesystemGuard } from '../../filesystem-guard.ts';
import { HeldDirectory, O_PATH } from '@svc/kit/files/held-directory.ts';
import { directoryContract, regularFileContract } from '../../../../../test/support/beneath-contract.ts';
import type { WaitingRoom } from '../io.ts';
import { DescriptorBudget } from './directory-entry-stream.ts';
import { Descriptor } from './descriptor.ts';
import { filesystem } from './filesystem.ts';
import { eachFolder } from '../../../../../test/support/each-folder.ts';

const room: WaitingRoom = { now: () => 0n, sleep: () => {}, awaitRemote: () => [] };
const follow = { symlinkFollow: true };
const read = { read: true };
const write = { read: true, write: true };

interface Preopens {
  getDirectories(): [Descriptor, string][];
}

/** `<base>/inside` is what the component gets, `<base>/outside` what it must not. */
let base: string;
let inside: string;

eachFolder('svc-fs-', (made) => {
  base = made;
  inside = join(base, 'inside');
  mkdirSync(join(inside, 'sub', 'deep'), { recursive: true });
  mkdirSync(join(base, 'outside'));
  writeFileSync(join(base, 'outside', 'secret'), 'secret');
  writeFileSync(join(inside, 'note'), 'a note');
});

function open(
  guard: FilesystemGuard,
  options: Partial<Omit<GivenDirectory, 'guestPath' | 'place'>> & {
    readonly hostPath?: string;
    readonly onRefused?: (path: string, code: string) => void;
  } = {},
): Descriptor {
  const hostPath = options.hostPath ?? inside;
  const place =
    guard === 'descriptor-walk' ? openSync(hostPath, O_PATH | constants.O_DIRECTORY) : realpathSync(hostPath);
  const { writable = true, masked, maskedNames = [], fixed = [] } = options;
  const given = { guestPath: '/', place, writable, ...(masked === undefined ? {} : { masked, maskedNames, fixed }) };
  const preopens = filesystem([given], room, options)['wasi:filesystem/preopens'] as unknown as Preopens;
  const [entry] = preopens.getDirectories();
  if (entry === undefined) throw new Error('no directory');
  return entry[0];
}

function content(root: Descriptor, path: string): string {
  const file = root.openAt(follow, path, {}, read);
  const text = new TextDecoder().decode(file.read(1000n, 0n)[0]);
  file[Symbol.dispose]();
  return text;
}

/** The code a refused operation ends with. */
function refusal(operation: () => unknown): unknown {
  try {
    operation();
  } catch (error) {
    return error;
  }
  return 'allowed';
}

describe.each([
  ['descriptor-walk', (path: string) => HeldDirectory.open(path), 300],
  ['realpath-check', (path: string) => HeldDirectory.checked(path), 0],
] as const)('what a component opens under %s', (_, hold, swaps) => {
  function openIn(directory: string, path: string, create: boolean): string {
    const mount = { writable: true, budget: new DescriptorBudget(), room };
    const root = new Descriptor(mount, { kind: 'directory', directory: hold(directory) });
    try {
      const file = root.openAt({}, path, { create }, create ? write : read);
      try {
        return new TextDecoder().decode(file.read(1000n, 0n)[0]);
      } finally {
        file[Symbol.dispose]();
      }
    } finally {
      root[Symbol.dispose]();
    }
  }

  directoryContract('below its directory', {
    reach: (directory) => openIn(join(directory, '../../../..'), 'work/a/b/c/file', true),
    swaps,
  });
  regularFileContract('a descriptor', {
    name: 'file',
    content: 'text',
    read: (directory) => openIn(directory, 'file', false),
  });
});

describe.each<FilesystemGuard>(['descriptor-walk', 'realpath-check'])('a descriptor under %s', (guard) => {
  it('reads, writes, lists, renames and removes what is inside', () => {
    const root = open(guard);
    const file = root.openAt({}, 'sub/new', { create: true, exclusive: true }, write);
    expect(file.write(Buffer.from('hello'), 0n)).toBe(5n);
    expect(file.stat().size).toBe(5n);
    root.renameAt('sub/new', root, 'sub/deep/newer');
    expect(content(root, 'sub/./deep/../deep/newer')).toBe('hello');
    root.createDirectoryAt('made');
    root.removeDirectoryAt('made');
    root.unlinkFileAt('sub/deep/newer');
    const listing = root.openAt({}, 'sub', { directory: true }, read).readDirectory();
    expect([listing.readDirectoryEntry(), listing.readDirectoryEntry()]).toEqual([
      { type: 'directory', name: 'deep' },
      undefined,
    ]);
    listing[Symbol.dispose]();
  });

  it('reads and writes through streams, at a place and at the end', () => {
    const root = open(guard);
    const file = root.openAt({}, 'stream', { create: true }, write);
    const out = file.writeViaStream(2n);
    out.blockingWriteAndFlush(Buffer.from('cd'));
    out.blockingWriteAndFlush(Buffer.from('ef'));
    file.appendViaStream().blockingWriteAndFlush(Buffer.from('gh'));
    const input = file.readViaStream(2n);
    expect(Buffer.from(input.blockingRead(100n)).toString()).toBe('cdefgh');
    expect(refusal(() => input.blockingRead(1n))).toEqual({ tag: 'closed' });
  });

  it('follows a relative link that stays inside', () => {
    symlinkSync('../note', join(inside, 'sub', 'up'));
    symlinkSync('sub/deep', join(inside, 'down'));
    writeFileSync(join(inside, 'sub', 'deep', 'leaf'), 'leaf');
    const root = open(guard);
    expect([content(root, 'sub/up'), content(root, 'down/leaf')]).toEqual(['a note', 'leaf']);
    expect(root.statAt({}, 'down').type).toBe('symbolic-link');
    expect(root.statAt({}, 'down/').type).toBe('directory');
  });

  it.each([
    ['a parent', '../outside/secret'],
    ['a parent further on', 'sub/deep/../../../outside/secret'],
    ['a parent of nothing', '..'],
    ['an absolute path', '/etc/hostname'],
    ['the root', '/'],
  ])('refuses %s', (_, path) => {
    const root = open(guard);
    expect(refusal(() => root.openAt(follow, path, {}, read))).toBe('not-permitted');
    expect(refusal(() => root.statAt(follow, path))).toBe('not-permitted');
  });

  it.each([
    ['relative', '../outside'],
    ['absolute', '/etc'],
    ['to a process directory', '/proc/self/root'],
    ['through another', 'other/../../outside'],
  ])('does not follow a planted link that leads out, %s', (_, target) => {
    symlinkSync('sub', join(inside, 'other'));
    symlinkSync(target, join(inside, 'planted'));
    const root = open(guard);
    expect(refusal(() => root.openAt(follow, 'planted/secret', {}, read))).toBe('not-permitted');
    expect(refusal(() => root.openAt(follow, 'planted', {}, read))).toBe('not-permitted');
    expect(refusal(() => root.createDirectoryAt('planted/x'))).toBe('not-permitted');
    expect(refusal(() => root.renameAt('note', root, 'planted/note'))).toBe('not-permitted');
    expect(readdirSync(join(base, 'outside'))).toEqual(['secret']);
  });

  it('opens no link that is not followed, and none of its own', () => {
    symlinkSync('note', join(inside, 'link'));
    const root = open(guard);
    expect(refusal(() => root.openAt({}, 'link', {}, read))).toBe('loop');
    expect(refusal(() => root.openAt({}, 'link', { create: true, truncate: true }, write))).toBe('loop');
    symlinkSync('round', join(inside, 'round'));
    expect(refusal(() => root.openAt(follow, 'round', {}, read))).toBe('loop');
  });

  it('makes links that lead down and no others', () => {
    const root = open(guard);
    root.symlinkAt('sub/deep', 'fine');
    expect(root.readlinkAt('fine')).toBe('sub/deep');
    for (const target of ['..', '../outside', 'sub/../..', '/etc']) {
      expect(refusal(() => root.symlinkAt(target, 'bad'))).toBe('not-permitted');
    }
    expect(existsSync(join(inside, 'bad'))).toBe(false);
  });

  it('makes no hard links', () => {
    expect(refusal(() => open(guard).linkAt())).toBe('not-permitted');
  });

  it('climbs no higher from a subdirectory than that subdirectory', () => {
    const sub = open(guard).openAt({}, 'sub', { directory: true }, read);
    expect(refusal(() => sub.openAt(follow, '../note', {}, read))).toBe('not-permitted');
    expect(sub.statAt(follow, 'deep/..').type).toBe('directory');
  });

  it('changes nothing through a directory that is read-only', () => {
    const told: string[] = [];
    const root = open(guard, { writable: false, onRefused: (path, code) => void told.push(`${path}: ${code}`) });
    const attempts: (readonly [string, () => unknown])[] = [
      ['new', () => root.openAt({}, 'new', { create: true }, read)],
      ['note', () => root.openAt({}, 'note', { truncate: true }, read)],
      ['note', () => root.openAt({}, 'note', {}, write)],
      ['d', () => root.createDirectoryAt('d')],
      ['sub/deep', () => root.removeDirectoryAt('sub/deep')],
      ['note', () => root.unlinkFileAt('note')],
      ['note', () => root.renameAt('note', root, 'other')],
      ['link', () => root.symlinkAt('note', 'link')],
      ['note', () => root.setTimesAt({}, 'note', { tag: 'now' }, { tag: 'now' })],
    ];
    expect(attempts.map(([, attempt]) => refusal(attempt))).toEqual(attempts.map(() => 'read-only'));
    expect(told).toEqual(attempts.map(([path]) => `${path}: read-only`));
    expect([content(root, 'note'), readdirSync(inside)]).toEqual(['a note', ['note', 'sub']]);
    expect(refusal(() => root.openAt({}, 'note', {}, read).write(Buffer.from('x'), 0n))).toBe('bad-descriptor');
  });

  it('moves nothing from one directory it was given to another', () => {
    const [here, there] = [open(guard), open(guard, { hostPath: join(base, 'outside') })];
    expect(refusal(() => here.renameAt('note', there, 'note'))).toBe('cross-device');
    expect(readFileSync(join(inside, 'note'), 'utf8')).toBe('a note');
  });

  it('opens neither pipes nor sockets, without waiting for anyone', async () => {
    execFileSync('mkfifo', [join(inside, 'pipe')]);
    const server = createServer().listen(join(inside, 'socket'));
    await new Promise((resolve) => server.once('listening', resolve));
    const root = open(guard);
    expect(root.statAt({}, 'pipe').type).toBe('fifo');
    for (const name of ['pipe', 'socket']) {
      expect(refusal(() => root.openAt({}, name, {}, read))).not.toBe('allowed');
      expect(refusal(() => root.openAt({}, name, {}, write))).not.toBe('allowed');
    }
    await new Promise((resolve) => server.close(resolve));
  });

  it('holds its share of descriptors at most', () => {
    const root = open(guard);
    const held: Descriptor[] = [];
    const last = refusal(() => {
      for (let at = 0; at < 10_000; at += 1) held.push(root.openAt({}, 'note', {}, read));
    });
    expect({ last, held: held.length }).toEqual({ last: 'quota', held: 511 });
    for (const descriptor of held) descriptor[Symbol.dispose]();
    expect(content(root, 'note')).toBe('a note');
  });

  it('keeps a directory it holds after its name is gone', () => {
    const root = open(guard);
    const sub = root.openAt({}, 'sub', { directory: true }, read);
    rmSync(join(inside, 'sub'), { recursive: true });
    symlinkSync('../outside', join(inside, 'sub'));
    expect(refusal(() => sub.openAt({}, 'secret', {}, read))).not.toBe('allowed');
  });

  it.each([
    ['an empty path', '', 'no-entry'],
    ['a NUL', 'no\0te', 'invalid'],
    ['a long path', 'x/'.repeat(5000), 'name-too-long'],
    ['a long name', 'x'.repeat(300), 'name-too-long'],
    ['a file as a directory', 'note/x', 'not-directory'],
    ['a file with a slash behind it', 'note/', 'not-directory'],
    ['what is not there', 'missing/x', 'no-entry'],
  ])('refuses %s', (_, path, code) => {
    expect(refusal(() => open(guard).openAt(follow, path, {}, read))).toBe(code);
  });

  it('keeps open flags apart', () => {
    const root = open(guard);
    expect(refusal(() => root.openAt({}, 'note', { create: true, exclusive: true }, write))).toBe('exist');
    expect(refusal(() => root.openAt({}, 'note', { directory: true }, read))).toBe('not-directory');
    expect(refusal(() => root.openAt({}, 'sub', { create: true }, write))).toBe('is-directory');
    expect(refusal(() => root.openAt({}, 'note', {}, { write: true }).read(1n, 0n))).toBe('bad-descriptor');
    root.openAt({}, 'note', { truncate: true }, write)[Symbol.dispose]();
    expect(statSync(join(inside, 'note')).size).toBe(0);
  });

  it('takes offsets and sizes no file has', () => {
    const file = open(guard).openAt({}, 'note', {}, write);
    const most = 2n ** 64n - 1n;
    expect(refusal(() => file.read(most, most))).toBe('file-too-large');
    expect(refusal(() => file.write(Buffer.from('x'), most))).toBe('file-too-large');
    expect(refusal(() => file.setSize(most))).toBe('file-too-large');
    expect(Buffer.from(file.read(most, 0n)[0]).toString()).toBe('a note');
  });

  it('sets times', () => {
    const root = open(guard);
    const at = { tag: 'timestamp', val: { seconds: 1_000_000_000n, nanoseconds: 500_000_000 } } as const;
    root.setTimesAt({}, 'note', { tag: 'no-change' }, at);
    expect(statSync(join(inside, 'note')).mtimeMs).toBe(1_000_000_000_500);
  });

  it('recognizes the same file among others', () => {
    const root = open(guard);
    const [note, again, sub] = ['note', 'note', 'sub'].map((path) => root.openAt({}, path, {}, read));
    expect([note?.isSameObject(again as Descriptor), note?.isSameObject(sub as Descriptor)]).toEqual([true, false]);
  });
});

it('a directory lists names that are not UTF-8 as illegal and goes on', () => {
  execFileSync('sh', ['-c', 'touch "$(printf \'bad\\377\')"'], { cwd: join(inside, 'sub', 'deep') });
  writeFileSync(join(inside, 'sub', 'deep', 'good'), '');
  const listing = open('descriptor-walk').openAt({}, 'sub/deep', { directory: true }, read).readDirectory();
  const seen = Array.from({ length: 3 }, () => refusal(() => JSON.stringify(listing.readDirectoryEntry())));
  expect(seen.filter((outcome) => outcome === 'illegal-byte-sequence')).toEqual(['illegal-byte-sequence']);
  listing[Symbol.dispose]();
});

it('a directory lists the whole of a name that begins with a byte order mark', () => {
  writeFileSync(join(inside, 'sub', 'deep', '\ufeffnote'), '');
  const listing = open('descriptor-walk').openAt({}, 'sub/deep', { directory: true }, read).readDirectory();
  expect(listing.readDirectoryEntry()?.name).toBe('\ufeffnote');
  listing[Symbol.dispose]();
});

describe.each<FilesystemGuard>(['descriptor-walk', 'realpath-check'])('a masked directory under %s', (guard) => {
  beforeEach(() => {
    mkdirSync(join(inside, 'sub', '.env.d'));
    mkdirSync(join(inside, 'conf'));
    for (const path of ['.env', 'sub/.env.d/x', 'conf/prod', 'sub/seen']) writeFileSync(join(inside, path), path);
    symlinkSync('.env', join(inside, 'link'));
    symlinkSync('conf/prod', join(inside, '.env.link'));
  });

  function objectAt(path: string): string {
    const { dev, ino } = statSync(join(inside, path), { bigint: true });
    return `${dev}:${ino}`;
  }

  it('keeps masked names from a component, whichever way it goes', () => {
    const root = open(guard, { masked: [] });
    expect(content(root, 'sub/seen')).toBe('sub/seen');
    const ways = ['.env', 'link', 'sub/../.env', 'sub/.env.d/x', 'sub/.env.d', '.env.link', '.ENV'];
    const codes = ways.map((path) => refusal(() => root.openAt(follow, path, {}, read)));
    expect(codes).toEqual(ways.map(() => 'access'));
    const changes = [
      () => root.renameAt('.env', root, 'mine'),
      () => root.renameAt('note', root, '.env'),
      () => root.unlinkFileAt('.env'),
      () => root.openAt({}, '.env.new', { create: true }, write),
    ];
    expect(changes.map(refusal)).toEqual(changes.map(() => 'access'));
    expect(readFileSync(join(inside, '.env'), 'utf8')).toBe('.env');
  });

  it('keeps other names from it too, at any depth and in any case', () => {
    const root = open(guard, { masked: [], maskedNames: ['.git'] });
    const ways = ['.git', '.Git', 'sub/.git', '.git/hooks/pre-commit', 'sub/../.git/config'];
    expect(ways.map((path) => refusal(() => root.openAt(follow, path, { create: true }, write)))).toEqual(
      ways.map(() => 'access'),
    );
    expect(refusal(() => root.createDirectoryAt('sub/.git'))).toBe('access');
    expect(refusal(() => root.renameAt('note', root, '.git'))).toBe('access');
    expect(content(root, 'sub/seen')).toBe('sub/seen');
  });

  it('keeps from it the place of what is not to be moved, and lets it into that', () => {
    const root = open(guard, { masked: [], fixed: [objectAt('sub'), objectAt('sub/deep'), objectAt('note')] });
    const changes = [
      () => root.renameAt('sub', root, 'moved'),
      () => root.renameAt('sub/deep', root, 'moved'),
      () => root.removeDirectoryAt('sub/deep'),
      () => root.unlinkFileAt('note'),
      () => root.renameAt('conf/prod', root, 'note'),
    ];
    expect(changes.map(refusal)).toEqual(changes.map(() => 'access'));
    expect(content(root, 'sub/seen')).toBe('sub/seen');
    expect(refusal(() => root.createDirectoryAt('sub'))).toBe('exist');
  });

  it('keeps masked files and directories from it under all their names', () => {
    const root = open(guard, { masked: [objectAt('conf/prod'), objectAt('sub/deep')] });
    root.renameAt('conf/prod', root, 'moved');
    writeFileSync(join(inside, 'sub', 'deep', 'y'), 'y');
    const ways = ['moved', 'sub/deep', 'sub/deep/y'];
    const codes = ways.map((path) => refusal(() => root.openAt(follow, path, {}, read)));
    expect(codes).toEqual(['access', 'access', 'access']);
  });
});
