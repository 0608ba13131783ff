/** Reads a compiled component from the disk: its own file, and the parts that this file leaves in the archive beside it. */

import { createHash } from 'node:crypto';
import { closeSync, constants, openSync } from 'node:fs';
import { basename, join } from 'node:path';

import { readFileUpTo } from '@svc/kit/files/read-up-to.ts';
import { fillSync } from '@svc/kit/files/transfer-sync.ts';
import { unlessRefused } from '@svc/kit/files/unless-refused.ts';
import {
  type ArchiveSlice,
  openTranspiled,
  type TranspiledComponent,
  transpiledHead,
  type TranspiledHead,
} from './transpiled-component.ts';

/** The script and the modules of the largest component, and what is kept of either. */
export const largestTranspiled: number = 512 * 1024 * 1024;
/** More than the header of most files; for a longer one the whole file is read. */
const startBytes = 64 * 1024;
const codeDigestBytes = 32;
const nothing = new Uint8Array();

/** A compiled component on the disk, as its first bytes describe it. */
export interface SeenTranspiled extends TranspiledHead {
  readonly path: string;
}

/** Looks at the beginning of a file. Returns null where none is, or that of another component than `componentSha256`. */
export function seeTranspiled(path: string, componentSha256: string | null): SeenTranspiled | null {
  const start = readPart(path, 0, startBytes);
  const head = start === null ? null : transpiledHead(start);
  if (head === null || (componentSha256 !== null && head.componentSha256 !== componentSha256)) return null;
  return { ...head, path };
}

/** Reads what was seen. Returns null if the file is gone or another by now, or if it or the archive is damaged. */
export function readSeen({ path, digest }: Pick<SeenTranspiled, 'path' | 'digest'>): TranspiledComponent | null {
  const file = unlessRefused(() => readFileUpTo(path, largestTranspiled), undefined);
  const opened = file === undefined ? null : openTranspiled(file);
  if (opened === null || opened.digest !== digest) return null;
  const { slice } = opened;
  return opened.with(
    slice === null ? nothing : (readSlice(join(path, '..', '..', basename(slice.archive)), slice) ?? nothing),
  );
}

/** Both at once. */
export function readTranspiled(path: string, componentSha256: string | null): TranspiledComponent | null {
  const seen = seeTranspiled(path, componentSha256);
  return seen === null ? null : readSeen(seen);
}

function readSlice(path: string, { from, to }: ArchiveSlice): Buffer | null {
  return to - from > largestTranspiled ? null : readPart(path, from, to - from);
}

/** Shorter when the file ends before. Returns null when the system does not give it. */
function readPart(path: string, from: number, length: number): Buffer | null {
  return unlessRefused(() => {
    // Without waiting: nobody may ever write into a pipe that lies there.
    const file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY);
    try {
      const bytes = Buffer.allocUnsafe(length);
      return bytes.subarray(0, fillSync(file, bytes, from));
    } finally {
      closeSync(file);
    }
  }, null);
}

/** What an engine made of a glue in an earlier run; null if that is missing or damaged. */
export function readCode(path: string): Uint8Array | null {
  const file = unlessRefused(() => readFileUpTo(path, largestTranspiled), undefined);
  if (file === undefined || file.length < codeDigestBytes) return null;
  // The engine trusts these bytes, so that what was cut short or altered must not reach it.
  const code = file.subarray(codeDigestBytes);
  return digestOfCode(code).equals(file.subarray(0, codeDigestBytes)) ? code : null;
}

/** Stands in front of the code in its file. */
export function digestOfCode(code: Uint8Array): Buffer {
  return createHash('sha256').update(code).digest();
}
