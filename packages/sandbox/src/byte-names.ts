/** Reads directories whose names may be any bytes but a slash: a path is a character for each of its bytes. */

import { opendirSync, readdirSync, type Dirent } from 'node:fs';

import { decodeStrictUtf8 } from '@svc/protocol/strict-utf8.ts';

/**
 * The entries of a directory, a character for each byte of their names: 100,000 are read so in half the time that they take as bytes. Where a file system does not
 * say what its entries are, Node looks at each, which it cannot by such a name in a place of bytes.
 */
export function entriesIn(
  place: Buffer,
): readonly Pick<Dirent, 'name' | 'isDirectory' | 'isFile' | 'isSymbolicLink'>[] {
  try {
    return readdirSync(place, { withFileTypes: true, encoding: 'latin1' });
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    const entries = readdirSync(place, { withFileTypes: true, encoding: 'buffer' }) as unknown as Dirent<Buffer>[];
    return entries.map((entry) => ({
      name: entry.name.toString('latin1'),
      isDirectory: () => entry.isDirectory(),
      isFile: () => entry.isFile(),
      isSymbolicLink: () => entry.isSymbolicLink(),
    }));
  }
}

export interface ByteEntry {
  /** A character for each byte. */
  readonly name: string;
  readonly kind: 'directory' | 'file' | 'other';
}

/** The entries one after the other, for readers that stop early: a task may have made millions of them in one directory. It is opened at once. */
export function eachEntryIn(place: string | Buffer): Generator<ByteEntry, undefined, undefined> {
  const directory = opendirSync(place, { encoding: 'buffer' as BufferEncoding });
  return (function* (): Generator<ByteEntry, undefined, undefined> {
    try {
      for (let read = directory.readSync(); read !== null; read = directory.readSync()) {
        const entry = read as unknown as Dirent<Buffer>;
        const kind = entry.isDirectory() ? 'directory' : entry.isFile() ? 'file' : 'other';
        yield { name: entry.name.toString('latin1'), kind };
      }
    } finally {
      directory.closeSync();
    }
  })();
}

/** A path that is a character for each byte, as text for a person. */
export function textOf(path: string): string {
  return Buffer.from(path, 'latin1').toString('utf8');
}

export function below(path: string, name: string): string {
  return path === '' ? name : `${path}/${name}`;
}

/** As text; null for bytes that are no UTF-8. */
export function decoded(path: string): string | null {
  return decodeStrictUtf8(Buffer.from(path, 'latin1'));
}

/** Paths of text, as names in the bytes of their directories. */
export function byDirectory(paths: readonly string[]): ReadonlyMap<string, ReadonlySet<string>> {
  const found = new Map<string, Set<string>>();
  for (const path of paths) {
    const bytes = Buffer.from(path).toString('latin1');
    const cut = bytes.lastIndexOf('/');
    const directory = cut === -1 ? '' : bytes.slice(0, cut);
    const names = found.get(directory) ?? new Set();
    found.set(directory, names.add(bytes.slice(cut + 1)));
  }
  return found;
}
