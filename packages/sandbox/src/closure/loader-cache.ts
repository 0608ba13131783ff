/** Reads the cache in which the loader finds libraries by their names. */

import type { Machine } from './elf.ts';
import type { OpenedFile } from './opened-file.ts';

interface CachedLibrary {
  readonly path: string;
  /** Built for some processors only: the loader takes it where it can, and the plain one elsewhere. */
  readonly variant: boolean;
}

/** `/etc/ld.so.cache`: where the loader finds a library by its name, best first. */
export type LoaderCache = ReadonlyMap<Machine, ReadonlyMap<string, readonly CachedLibrary[]>>;

export const loaderCachePath = '/etc/ld.so.cache';

const maxCacheBytes = 16 * 1024 * 1024;

const maxTextBytes = 1024;

const maxEntries = 32_768;

const oldMagic = 'ld.so-1.7.0';

const magic = 'glibc-ld.so.cache1.1';

const headerSize = 48;

const entrySize = 24;

const bigEndian = 3;

/** glibc 2 in 64 bits: the low byte says the C library, the next the machine. */
const machineOfFlags: ReadonlyMap<number, Machine> = new Map([
  [0x0303, 'x86_64'],
  [0x0a03, 'aarch64'],
]);

/** Empty when there is no cache or it is not one that this knows: then the loader's directories are all there is. */
export function readLoaderCache(file: OpenedFile): LoaderCache {
  return file.size > maxCacheBytes ? new Map() : parseLoaderCache(file.read(0, file.size));
}

/** glibc's present format, also behind the older one. Anything unsound in it makes the whole cache an empty one. */
export function parseLoaderCache(bytes: Buffer): LoaderCache {
  const cache = new Map<Machine, Map<string, CachedLibrary[]>>();
  const start = startOfCache(bytes);
  if (bytes.toString('latin1', start, start + magic.length) !== magic || bytes.length < start + headerSize)
    return cache;
  const count = bytes.readUInt32LE(start + 20);
  const texts = start + headerSize + count * entrySize;
  if (bytes[start + 28] === bigEndian || count > maxEntries || texts > bytes.length) return cache;
  // One text of all bytes: a view and a search for each of a thousand would take most of the time.
  const all = bytes.toString('latin1');
  const isAscii = /^[\0-\x7f]*$/.test(all.slice(texts));
  const numbers = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const textAt = (offset: number): string | null => {
    const end = offset < texts ? -1 : all.indexOf('\0', offset);
    if (end <= offset || end - offset >= maxTextBytes) return null;
    return isAscii ? all.slice(offset, end) : bytes.toString('utf8', offset, end);
  };
  for (let at = start + headerSize; at < texts; at += entrySize) {
    const machine = machineOfFlags.get(numbers.getUint32(at, true));
    if (machine === undefined) continue;
    const name = textAt(start + numbers.getUint32(at + 4, true));
    const path = textAt(start + numbers.getUint32(at + 8, true));
    if (name === null || path === null || !path.startsWith('/')) return new Map();
    const found = { path, variant: numbers.getUint32(at + 16, true) !== 0 || numbers.getUint32(at + 20, true) !== 0 };
    const ofMachine = cache.get(machine) ?? new Map<string, CachedLibrary[]>();
    cache.set(machine, ofMachine);
    const ofName = ofMachine.get(name);
    if (ofName === undefined) ofMachine.set(name, [found]);
    else ofName.push(found);
  }
  return cache;
}

function startOfCache(bytes: Buffer): number {
  if (bytes.length < 16 || bytes.toString('latin1', 0, oldMagic.length) !== oldMagic) return 0;
  return Math.ceil((16 + bytes.readUInt32LE(12) * 12) / 8) * 8;
}
