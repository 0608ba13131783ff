import { existsSync, readdirSync, readFileSync, readlinkSync, statSync } from 'node:fs';

import { isSystemError } from '../diagnostics/system-reason.ts';
import { bytesTaken } from './tree-bytes.ts';

const deleted = ' (deleted)';
/** A range of memory of a process: where, what is done with it, from where in its file, the file's device, number and name. */
const mapping = /^([0-9a-f]+)-([0-9a-f]+) \S+ ([0-9a-f]+) [0-9a-f]+:[0-9a-f]+ (\d+) +(.*)$/gm;

/**
 * Counts the bytes of files that were removed from below `workdir`, a canonical path, and still take their space because a process that was
 * started after this one has them open or mapped. Yields often, so that the caller can do other work in between; gives the sum.
 *
 * Nothing counts of a process that does not let itself be looked at, nor of a descriptor that is on its way through a socket. Of a file that
 * is only mapped, the mapped part counts where the system does not tell its size. Gives 0 without /proc.
 */
export function* unlinkedBytes(workdir: string): Generator<void, number> {
  if (!existsSync('/proc/self/stat')) return 0;
  const own = readlinkSync('/proc/self');
  const since = startOf(own) ?? 0;
  // By number, so that a file counts once, however many have it.
  const found = new Map<number, number>();
  const isRemoved = (place: string): boolean => place.endsWith(deleted) && place.startsWith(`${workdir}/`);
  for (const pid of readdirSync('/proc')) {
    if (!/^\d+$/.test(pid) || pid === own) continue;
    yield;
    if ((startOf(pid) ?? -1) < since) continue;
    for (const descriptor of unlessHidden(() => readdirSync(`/proc/${pid}/fd`)) ?? []) {
      yield;
      countOpen(`/proc/${pid}/fd/${descriptor}`, isRemoved, found);
    }
    yield;
    countMapped(`/proc/${pid}`, isRemoved, found);
  }
  let total = 0;
  for (const bytes of found.values()) total += bytes;
  return total;
}

/** In ticks since the system's start; null of a process that is gone. */
function startOf(pid: string): number | null {
  const text = unlessHidden(() => readFileSync(`/proc/${pid}/stat`, 'latin1'));
  // What stands in parentheses is the name, which a process chooses.
  return text === null ? null : Number(text.slice(text.lastIndexOf(')') + 2).split(' ')[19]);
}

type Removed = (place: string) => boolean;

function countOpen(link: string, isRemoved: Removed, found: Map<number, number>): void {
  const place = unlessHidden(() => readlinkSync(link));
  if (place === null || !isRemoved(place)) return;
  const file = unlessHidden(() => statSync(link));
  // A name may end in these very words.
  if (file?.isFile() === true && file.nlink === 0) found.set(file.ino, bytesTaken(file));
}

function countMapped(process: string, isRemoved: Removed, found: Map<number, number>): void {
  const maps = unlessHidden(() => readFileSync(`${process}/maps`, 'utf8')) ?? '';
  for (const [, start = '', end = '', offset = '', number = '', place = ''] of maps.matchAll(mapping)) {
    if (!isRemoved(place)) continue;
    const file = unlessHidden(() => statSync(`${process}/map_files/${start}-${end}`));
    if (file !== null && file.nlink > 0) continue;
    const mapped = Number.parseInt(end, 16) - Number.parseInt(start, 16) + Number.parseInt(offset, 16);
    const ino = Number(number);
    found.set(ino, Math.max(found.get(ino) ?? 0, file === null ? mapped : bytesTaken(file)));
  }
}

/** Null where the system does not let it be looked at, or it is gone. */
function unlessHidden<T>(look: () => T): T | null {
  try {
    return look();
  } catch (error) {
    if (!isSystemError(error)) throw error;
    return null;
  }
}
