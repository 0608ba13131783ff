/** Reads regular files of a folder whose contents may be hostile, and nothing outside it. */

import { closeSync, realpathSync } from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';

import { isSystemError, systemReason } from '../diagnostics/system-reason.ts';
import { HeldDirectory, type OpenedChild } from './held-directory.ts';
import { decodeText, type TextReading, unreadableFile } from './read-text.ts';
import { readFileUpTo } from './read-up-to.ts';
import { resolveBeneath } from './resolve-beneath.ts';

export type BytesReading =
  | { readonly kind: 'bytes'; readonly bytes: Buffer }
  | Exclude<TextReading, { readonly kind: 'text' }>;

const mebibyte = 1024 * 1024;

/**
 * The bytes of a regular file that has at most `maxBytes`, whole MiB. A link may lead to another place in the folder, never out of it, whatever becomes of paths meanwhile. Waits for
 * nobody. `path` is relative, without `.`, `..` and empty components. A file whose path in the folder, links followed, is refused by `admits` is not opened.
 */
export function readBeneath(
  folder: string,
  path: string,
  maxBytes: number,
  admits: (path: string) => boolean = () => true,
): BytesReading {
  try {
    return readInside(realpathSync.native(folder), path, { maxBytes, admits });
  } catch (error) {
    if (!isSystemError(error)) throw error;
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return { kind: 'absent' };
    return { kind: 'unreadable', reason: systemReason(error), cause: error };
  }
}

/** The text of a small file, in the way of `readBeneath`: at most 1 MiB of UTF-8. */
export function readTextBeneath(folder: string, path: string): TextReading {
  const reading = readBeneath(folder, path, mebibyte);
  return reading.kind === 'bytes' ? decodeText(reading.bytes) : reading;
}

/** The same; null where there is no such file. `E-IO-001` for one that is there and cannot be read. */
export function readTextBeneathIfThere(folder: string, path: string): string | null {
  const reading = readTextBeneath(folder, path);
  if (reading.kind === 'unreadable') throw unreadableFile(join(folder, path), reading);
  return reading.kind === 'text' ? reading.text : null;
}

function readInside(
  base: string,
  path: string,
  { maxBytes, admits }: { readonly maxBytes: number; readonly admits: (path: string) => boolean },
): BytesReading {
  const found = resolveBeneath(base, path);
  if (found.kind === 'missing') return { kind: 'absent' };
  if (found.kind === 'loop') return { kind: 'unreadable', reason: systemReason({ code: 'ELOOP' }) };
  if (found.kind === 'outside') {
    const hint = 'put the file itself there, in place of the link';
    return { kind: 'unreadable', reason: `a link leads out of ${base}`, hint };
  }
  if (!admits(relative(base, found.real))) return { kind: 'unreadable', reason: 'it is masked' };
  const opened = openPlain(found.real);
  if (opened.kind !== 'file') {
    const reason = opened.kind === 'directory' ? systemReason({ code: 'EISDIR' }) : 'it is not a regular file';
    return { kind: 'unreadable', reason };
  }
  try {
    const bytes = readFileUpTo(opened.fd, maxBytes);
    if (bytes !== undefined) return { kind: 'bytes', bytes };
    return { kind: 'unreadable', reason: `it is larger than ${maxBytes / mebibyte} MiB` };
  } finally {
    closeSync(opened.fd);
  }
}

/** A link that has come to be in the path meanwhile is refused by the kernel. */
function openPlain(real: string): OpenedChild {
  const directory = HeldDirectory.open(dirname(real));
  try {
    return directory.openFile(basename(real));
  } finally {
    directory.close();
  }
}
