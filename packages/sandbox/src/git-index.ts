/** Reads the index of a repository for files whose changes git is set not to look for. */

import { join } from 'node:path';

import { unlessErrno } from '@svc/kit/files/unless-refused.ts';
import { readFileUpTo } from '@svc/kit/files/read-up-to.ts';

const largestIndex = 64 * 1024 * 1024;
/** Bytes of an object's name: SHA-1, SHA-256. */
const hashLengths = [20, 32] as const;
/** What an entry has of its file before the name of the object. */
const statLength = 40;
/** The most bytes of a name: a name that goes on from the one before it could otherwise grow with each entry. */
const maxName = 4096;
const assumeUnchanged = 0x8000;
const isExtended = 0x4000;
const skipWorktree = 0x4000;

interface ReadIndex {
  readonly hidden: readonly string[];
  /** The name of the object that says which index this one adds to. */
  readonly base: string | null;
}

/**
 * The paths of those with the flags `assume-unchanged` and `skip-worktree`, in the index of a repository and in the one that it adds to, their bytes one a character. None
 * where there is no index; null for what is no index, or too large to be read.
 */
export function hiddenFiles(directory: string): ReadonlySet<string> | null {
  const own = indexAt(join(directory, 'index'));
  if (own === null || own === undefined) return own === undefined ? new Set() : null;
  const base = own.base === null ? undefined : indexAt(join(directory, `sharedindex.${own.base}`));
  return base === null ? null : new Set([...own.hidden, ...(base?.hidden ?? [])]);
}

/** Returns undefined without one. */
function indexAt(file: string): ReadIndex | null | undefined {
  const bytes = unlessErrno(['ENOENT', 'ENOTDIR'], () => readFileUpTo(file, largestIndex) ?? null, undefined);
  if (bytes === undefined || bytes === null) return bytes;
  for (const hashLength of hashLengths) {
    const read = parseIndex(bytes, hashLength);
    if (read !== null) return read;
  }
  return null;
}

/** Returns null for bytes that are no index with such names of objects. */
export function parseIndex(bytes: Buffer, hashLength: number): ReadIndex | null {
  const end = bytes.length - hashLength;
  if (end < 12 || bytes.toString('latin1', 0, 4) !== 'DIRC') return null;
  const [version, count] = [bytes.readUInt32BE(4), bytes.readUInt32BE(8)];
  if (version < 2 || version > 4) return null;
  const hidden: string[] = [];
  let at = 12;
  let before = '';
  for (let entry = 0; entry < count; entry += 1) {
    const flagsAt = at + statLength + hashLength;
    if (flagsAt + 4 > end) return null;
    const flags = bytes.readUInt16BE(flagsAt);
    const hasMore = version > 2 && (flags & isExtended) !== 0;
    const nameAt = flagsAt + (hasMore ? 4 : 2);
    const name = nameOf(bytes, nameAt, version === 4 ? before : null);
    if (name === null || name.end > end) return null;
    before = name.text;
    const isHidden =
      (flags & assumeUnchanged) !== 0 || (hasMore && (bytes.readUInt16BE(flagsAt + 2) & skipWorktree) !== 0);
    // An entry that stands for another one of the shared index has no name of its own.
    if (isHidden) hidden.push(name.text === '' ? `a file of the shared index (${hidden.length + 1})` : name.text);
    at = version === 4 ? name.end + 1 : at + ((name.end - at + 8) & ~7);
  }
  return withExtensions(bytes, at, { end, hashLength, hidden });
}

/** `end` is where its last byte is followed by a zero. `before` is the name that one of version 4 goes on from; null in the others. */
function nameOf(
  bytes: Buffer,
  from: number,
  before: string | null,
): { readonly text: string; readonly end: number } | null {
  let at = from;
  let dropped = 0;
  if (before !== null) {
    let byte = bytes[at] ?? 0;
    at += 1;
    dropped = byte & 0x7f;
    while ((byte & 0x80) !== 0) {
      byte = bytes[at] ?? 0;
      at += 1;
      dropped = (dropped + 1) * 128 + (byte & 0x7f);
    }
  }
  const end = bytes.indexOf(0, at);
  const kept = (before?.length ?? 0) - dropped;
  if (end < 0 || kept < 0 || kept + end - at > maxName) return null;
  return { text: (before ?? '').slice(0, kept) + bytes.toString('latin1', at, end), end };
}

function withExtensions(
  bytes: Buffer,
  from: number,
  {
    end,
    hashLength,
    hidden,
  }: { readonly end: number; readonly hashLength: number; readonly hidden: readonly string[] },
): ReadIndex | null {
  let base: string | null = null;
  let at = from;
  while (at + 8 <= end) {
    const size = bytes.readUInt32BE(at + 4);
    if (bytes.toString('latin1', at, at + 4) === 'link') base = bytes.toString('hex', at + 8, at + 8 + hashLength);
    at += 8 + size;
  }
  return at === end ? { hidden, base: /^0*$/.test(base ?? '') ? null : base } : null;
}
