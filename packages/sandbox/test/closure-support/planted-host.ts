import { join } from 'node:path/posix';

import type { FileHost } from '../../src/closure/file-collection.ts';
import type { FileEntry } from '../../src/closure/opened-file.ts';
import type { OpenedFile } from '../../src/closure/opened-file.ts';

/** A file of bytes or text, a link, or a directory that has nothing planted in it. */
export type Planted =
  | Buffer
  | string
  | { readonly linkTo: string }
  | { readonly plain: Buffer | string }
  | EmptyDirectory;

export interface EmptyDirectory {
  readonly directory: true;
}

export const emptyDirectory: EmptyDirectory = { directory: true };

/** Bytes read so far, over all files. */
export interface ReadCount {
  bytes: number;
}

/**
 * A tree of files in memory, by absolute path; the directories above a path are there by themselves. Files are
 * executable except for those that are `plain`.
 */
export function plantHost(tree: Readonly<Record<string, Planted>>, count: ReadCount = { bytes: 0 }): FileHost {
  const entries = new Map<string, Planted>([['/', emptyDirectory]]);
  for (const [path, planted] of Object.entries(tree)) {
    const segments = path.split('/').slice(1);
    for (let depth = 1; depth < segments.length; depth += 1) {
      const above = `/${segments.slice(0, depth).join('/')}`;
      if (!entries.has(above)) entries.set(above, emptyDirectory);
    }
    entries.set(path, planted);
  }
  const namesIn = (path: string): string[] | null => {
    const start = path === '/' ? '/' : `${path}/`;
    const names = [...entries.keys()].filter((each) => each.startsWith(start) && each !== '/');
    const own = names.map((each) => each.slice(start.length)).filter((name) => !name.includes('/'));
    return entryOf(entries.get(path))?.kind === 'directory' ? own : null;
  };
  return {
    look: (path) => entryOf(entries.get(path)),
    linkTarget: (path) => {
      const planted = entries.get(path);
      return typeof planted === 'object' && 'linkTo' in planted ? planted.linkTo : null;
    },
    list: namesIn,
    listBranches: (path) =>
      namesIn(path)?.filter((name) => entryOf(entries.get(join(path, name)))?.kind !== 'file') ?? null,
    open: (path) => {
      const bytes = bytesOf(entries.get(path));
      return bytes === null ? null : openPlanted(path, bytes, count);
    },
  };
}

/** A file of which `count` says how much was read. */
export function openPlanted(identity: string, bytes: Buffer, count: ReadCount = { bytes: 0 }): OpenedFile {
  return {
    identity,
    size: bytes.length,
    read: (offset, length) => {
      const piece = Buffer.from(bytes.subarray(offset, offset + length));
      count.bytes += piece.length;
      return piece;
    },
    close: () => {},
  };
}

function entryOf(planted: Planted | undefined): FileEntry | null {
  if (planted === undefined) return null;
  if (typeof planted === 'object' && 'directory' in planted) return { kind: 'directory', executable: true };
  if (typeof planted === 'object' && 'linkTo' in planted) return { kind: 'link', executable: true };
  return { kind: 'file', executable: !(typeof planted === 'object' && 'plain' in planted) };
}

function bytesOf(planted: Planted | undefined): Buffer | null {
  if (planted === undefined) return null;
  if (typeof planted === 'string') return Buffer.from(planted);
  if (Buffer.isBuffer(planted)) return planted;
  return 'plain' in planted ? Buffer.from(planted.plain) : null;
}
