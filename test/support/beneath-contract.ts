/** Tests what promises to follow no link out of a directory. */

import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';

import { errorCode } from '@svc/kit/diagnostics/system-reason.ts';
import { unlessRefused } from '@svc/kit/files/unless-refused.ts';
import { expect, it, onTestFinished } from 'vitest';

const swapWriter = fileURLToPath(new URL('swap-writer.mjs', import.meta.url));
/** More than `swaps` are only done until both the directory and the link have been met. */
const maxRounds = 20_000;
const hasDescriptors = existsSync('/proc/self/fd');

/** A refusal is false, null, an error with a code of the system's or of ours, or a code of a component's. */
type Outcome = unknown;

export interface DirectoryReach {
  /** Puts what `reach` needs into the directory, and into the decoys that links lead to; a user that reads fails when it meets a decoy. */
  readonly prepare?: (directory: string, isDecoy: boolean) => void;
  /** Does something in the directory at a canonical absolute path; refused where no directory is, or a link is in any part of the path. */
  readonly reach: (directory: string) => Outcome;
  /** How often `reach` is tried while the directory and a link take turns; 0 where another process may win a race, or where `reach` itself makes the directory between two turns. */
  readonly swaps?: number;
}

const parts = [
  ['the last part', 'work/a/b/c'],
  ['the middle', 'work/a/b'],
  ['the beginning', 'work/a'],
] as const;

/** What every way to a directory promises that follows no link, whatever process puts one there, and whenever. */
export function directoryContract(name: string, { prepare = () => {}, reach, swaps = 300 }: DirectoryReach): void {
  function setUp() {
    const root = temporaryRoot();
    const directory = join(root, 'work/a/b/c');
    const elsewhere = join(root, 'elsewhere');
    for (const each of [directory, elsewhere, join(elsewhere, 'c'), join(elsewhere, 'b/c')]) {
      mkdirSync(each, { recursive: true });
      prepare(each, each !== directory);
    }
    return { root, directory, elsewhere, before: treeOf(elsewhere) };
  }

  it(`${name} reaches the directory, and leaves nothing open`, async () => {
    const { root, directory } = setUp();
    expect(await isMet(() => reach(directory))).toBe(true);
    expect(heldBelow(root)).toBe(0);
  });

  it.each(parts)(`${name} is refused over a link in %s, and leaves nothing there or open`, async (_, part) => {
    const { root, directory, elsewhere, before } = setUp();
    renameSync(join(root, part), join(root, 'moved'));
    for (const target of ['elsewhere', 'moved', 'nowhere']) {
      symlinkSync(join(root, target), join(root, part));
      const moved = treeOf(join(root, 'moved'));
      expect([target, await isMet(() => reach(directory))]).toEqual([target, false]);
      expect(heldBelow(root)).toBe(0);
      expect([treeOf(elsewhere), treeOf(join(root, 'moved'))]).toEqual([before, moved]);
      expect(existsSync(join(root, 'nowhere'))).toBe(false);
      rmSync(join(root, part), { force: true });
    }
  });

  it.each(parts)(`${name} is refused over a file in %s`, async (_, part) => {
    const { root, directory } = setUp();
    renameSync(join(root, part), join(root, 'moved'));
    writeFileSync(join(root, part), '');
    expect(await isMet(() => reach(directory))).toBe(false);
    expect(readFileSync(join(root, part), 'utf8')).toBe('');
  });

  if (swaps === 0) return;
  it.skipIf(!hasDescriptors).each(parts)(
    `${name} never reaches another directory while a link in %s takes turns with it (skipped without /proc)`,
    async (_, part) => {
      const { root, directory, elsewhere, before } = setUp();
      symlinkSync(elsewhere, join(root, 'link'));
      const words = [swapWriter, join(root, part), join(root, 'link'), join(root, 'away')];
      const writer = spawn(process.execPath, words, { stdio: ['pipe', 'pipe', 'inherit'] });
      onTestFinished(() => void writer.kill('SIGKILL'));
      await once(writer.stdout, 'data');
      const met = { directory: 0, link: 0 };
      for (let round = 0; round < maxRounds; round += 1) {
        if (round >= swaps && met.directory > 0 && met.link > 0) break;
        met[(await isMet(() => reach(directory))) ? 'directory' : 'link'] += 1;
      }
      writer.stdin.end();
      await text(writer.stdout);
      expect(Math.min(met.directory, met.link)).toBeGreaterThan(0);
      expect(treeOf(elsewhere)).toEqual(before);
    },
  );
}

export interface FileReach {
  /** The file's, and what it has to hold. */
  readonly name: string;
  readonly content: string;
  /** Reads the file of that name in a directory; refused where it is no regular file. */
  readonly read: (directory: string) => Outcome;
}

/** What everything promises that opens a regular file in a directory and nothing else. */
export function regularFileContract(who: string, { name, content, read }: FileReach): void {
  const planted: readonly (readonly [string, (place: string, root: string) => void | Promise<void>])[] = [
    ['a link to a file beside it', (place) => plantLink(place, `${place}.other`, content)],
    ['a link to a file elsewhere', (place, root) => plantLink(place, join(root, 'elsewhere'), content)],
    ['a link to nothing', (place, root) => symlinkSync(join(root, 'nothing'), place)],
    ['a link to itself', (place) => symlinkSync(place, place)],
    ['a directory', (place) => mkdirSync(place)],
    ['a fifo', (place) => void execFileSync('mkfifo', [place])],
    ['a socket', async (place) => await plantSocket(place)],
    ['nothing', () => {}],
  ];

  it(`${who} opens a regular file, and leaves nothing open`, async () => {
    const directory = temporaryRoot();
    writeFileSync(join(directory, name), content);
    expect(await isMet(() => read(directory))).toBe(true);
    expect(heldBelow(directory)).toBe(0);
  });

  it.each(planted)(`${who} refuses %s in its place without waiting, and leaves nothing open`, async (_, plant) => {
    const root = temporaryRoot();
    const directory = join(root, 'directory');
    mkdirSync(directory);
    await plant(join(directory, name), root);
    expect(await isMet(() => read(directory))).toBe(false);
    expect(heldBelow(root)).toBe(0);
  });
}

function plantLink(place: string, target: string, content: string): void {
  writeFileSync(target, content);
  symlinkSync(target, place);
}

async function plantSocket(place: string): Promise<void> {
  const server = createServer().listen(place);
  onTestFinished(() => void server.close());
  await once(server, 'listening');
}

async function isMet(action: () => Outcome): Promise<boolean> {
  try {
    const outcome = await action();
    return outcome !== false && outcome !== null;
  } catch (error) {
    if (typeof error !== 'string' && !/^E(?!RR_)/.test(errorCode(error) ?? '')) throw error;
    return false;
  }
}

function temporaryRoot(): string {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'svc-beneath-')));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  return root;
}

/** What is below a directory, and what the files hold. */
function treeOf(directory: string): unknown {
  if (!existsSync(directory)) return null;
  return readdirSync(directory, { recursive: true, withFileTypes: true })
    .map((entry) => {
      const path = join(entry.parentPath, entry.name);
      return entry.isFile() ? `${path}: ${readFileSync(path, 'utf8')}` : path;
    })
    .sort();
}

/** How many descriptors of this process lead below a directory. */
function heldBelow(root: string): number {
  if (!hasDescriptors) return 0;
  const places = readdirSync('/proc/self/fd').map((fd) => unlessRefused(() => readlinkSync(`/proc/self/fd/${fd}`), ''));
  return places.filter((place) => place.startsWith(root)).length;
}

/** What everything promises that makes a new file in a directory: `make` is false, null or throws where the name stands for anything. */
export function newFileContract(name: string, make: (directory: string, file: string) => Outcome): void {
  it(`${name} makes a file where nothing is, and leaves it alone from then on`, async () => {
    const root = temporaryRoot();
    expect(await isMet(() => make(root, 'new'))).toBe(true);
    writeFileSync(join(root, 'new'), 'kept');
    expect(await isMet(() => make(root, 'new'))).toBe(false);
    expect(readFileSync(join(root, 'new'), 'utf8')).toBe('kept');
    expect(heldBelow(root)).toBe(0);
  });

  it(`${name} makes no file where a link or a directory is, nor where the link leads`, async () => {
    const root = temporaryRoot();
    mkdirSync(join(root, 'directory'));
    symlinkSync('nowhere', join(root, 'dangling'));
    writeFileSync(join(root, 'target'), 'kept');
    symlinkSync('target', join(root, 'link'));
    for (const file of ['directory', 'dangling', 'link']) {
      expect([file, await isMet(() => make(root, file))]).toEqual([file, false]);
    }
    expect(existsSync(join(root, 'nowhere'))).toBe(false);
    expect(readFileSync(join(root, 'target'), 'utf8')).toBe('kept');
    expect(heldBelow(root)).toBe(0);
  });
}
