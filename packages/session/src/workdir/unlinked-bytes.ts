/** Counts the bytes of removed files that processes still hold open. */

import {
  closeSync,
  existsSync,
  opendirSync,
  openSync,
  readdirSync,
  readlinkSync,
  readSync,
  statSync,
  type Dir,
} from 'node:fs';

import { isErrno, isSystemError } from '@svc/kit/diagnostics/system-reason.ts';
import { processStart, processStat } from '@svc/kit/process-stat.ts';
import { bytesTaken } from './tree-bytes.ts';

const deleted = ' (deleted)';
/** A range of memory of a process: where, what is done with it, from where in its file, the file's device, number and name,
 * in which a line feed is written as `\012` and nothing else is changed. */
const mapping = /^([0-9a-f]+)-([0-9a-f]+) \S+ ([0-9a-f]+) [0-9a-f]+:[0-9a-f]+ (\d+) +(.*)$/s;

/**
 * Counts the bytes of files that were removed from below `workdir`, a canonical path, and still take their space because a process that was
 * started after this one has them open or mapped. Yields often, so that the caller can do other work in between; gives the sum. A removed file
 * whose path is too long for the system to give counts where it lies on the workdir's device and a child of this process has it, or a child
 * of one.
 *
 * Nothing counts of a process that does not let itself be looked at, nor of a descriptor that is on its way through a socket. Of a file that
 * is only mapped, the mapped part counts where the system does not give its size. Gives 0 without /proc.
 */
export function* unlinkedBytes(workdir: string): Generator<void, number> {
  if (!existsSync('/proc/self/stat')) return 0;
  const own = readlinkSync('/proc/self');
  const since = Number(processStart(own));
  const device = unlessHidden(() => statSync(workdir))?.dev ?? null;
  const isRemoved = (place: string): boolean => place.endsWith(deleted) && place.startsWith(`${workdir}/`);
  // By number, so that a file counts once, however many have it.
  const found = new Map<number, number>();
  const descending = new Map([[own, true]]);
  for (const pid of readdirSync('/proc')) {
    if (!/^\d+$/.test(pid) || pid === own) continue;
    yield;
    const start = processStart(pid);
    if (start === null || Number(start) < since) continue;
    const deviceOfLong = (yield* descends(pid, descending)) ? device : null;
    for (const descriptor of namesIn(`/proc/${pid}/fd`)) {
      yield;
      countOpen(`/proc/${pid}/fd/${descriptor}`, { isRemoved, deviceOfLong }, found);
    }
    yield* countMapped(`/proc/${pid}`, isRemoved, found);
  }
  let total = 0;
  for (const bytes of found.values()) total += bytes;
  return total;
}

/**
 * Whether a known process has started it, or its ancestors. A process that outlives its parent descends from the one that took it in. Each
 * process is asked once: a program may make a long line of them.
 */
function* descends(pid: string, known: Map<string, boolean>): Generator<void, boolean> {
  const line = new Set<string>();
  let current: string | undefined = pid;
  while (current !== undefined && !known.has(current) && !line.has(current)) {
    line.add(current);
    current = processStat(current)[1];
    yield;
  }
  const isDescendant = known.get(current ?? '') ?? false;
  for (const one of line) known.set(one, isDescendant);
  return isDescendant;
}

type Removed = (place: string) => boolean;

function countOpen(
  link: string,
  { isRemoved, deviceOfLong }: { readonly isRemoved: Removed; readonly deviceOfLong: number | null },
  found: Map<number, number>,
): void {
  const place = unlessHidden(() => placeBehind(link));
  if (place === null || (place !== tooLong && !isRemoved(place))) return;
  const file = unlessHidden(() => statSync(link));
  if (place === tooLong && file?.dev !== deviceOfLong) return;
  // A name may end in these very words.
  if (file?.isFile() === true && file.nlink === 0) found.set(file.ino, bytesTaken(file));
}

const tooLong = Symbol('too long');

function placeBehind(link: string): string | typeof tooLong {
  try {
    return readlinkSync(link);
  } catch (error) {
    if (isErrno(error, 'ENAMETOOLONG')) return tooLong;
    throw error;
  }
}

function* countMapped(process: string, isRemoved: Removed, found: Map<number, number>): Generator<void> {
  // A program may map one file many thousand times.
  const looked = new Set<number>();
  for (const line of linesOf(`${process}/maps`)) {
    yield;
    const [, start = '', end = '', offset = '', number = '', place = ''] = mapping.exec(line) ?? [];
    const ino = Number(number);
    if (!isRemoved(place) || looked.has(ino)) continue;
    const file = unlessHidden(() => statSync(`${process}/map_files/${start}-${end}`));
    if (file !== null) looked.add(ino);
    if (file !== null && file.nlink > 0) continue;
    const mapped = Number.parseInt(end, 16) - Number.parseInt(start, 16) + Number.parseInt(offset, 16);
    found.set(ino, Math.max(found.get(ino) ?? 0, file === null ? mapped : bytesTaken(file)));
  }
}

/** One by one, as a program may have a million descriptors. Nothing where the system hides them. */
function* namesIn(path: string): Generator<string> {
  const directory = unlessHidden(() => opendirSync(path, { bufferSize: 256 }));
  if (directory === null) return;
  const next = (): ReturnType<Dir['readSync']> => unlessHidden(() => directory.readSync());
  try {
    for (let entry = next(); entry !== null; entry = next()) yield entry.name;
  } finally {
    directory.closeSync();
  }
}

/** One by one, as the system makes them while they are read. Nothing where it hides them. */
function* linesOf(path: string): Generator<string> {
  const fd = unlessHidden(() => openSync(path, 'r'));
  if (fd === null) return;
  const piece = Buffer.alloc(16 * 1024);
  const next = (): number => unlessHidden(() => readSync(fd, piece, 0, piece.length, null)) ?? 0;
  let rest = Buffer.alloc(0);
  try {
    for (let length = next(); length > 0; length = next()) {
      const held = Buffer.concat([rest, piece.subarray(0, length)]);
      const end = held.lastIndexOf(0x0a) + 1;
      rest = held.subarray(end);
      yield* held.toString('utf8', 0, end).split('\n');
    }
  } finally {
    closeSync(fd);
  }
}

/** Returns null where the system does not let it be looked at, or it is gone. */
function unlessHidden<T>(look: () => T): T | null {
  try {
    return look();
  } catch (error) {
    if (!isSystemError(error)) throw error;
    return null;
  }
}
