import { closeSync, fstatSync, openSync, readSync } from 'node:fs';

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { isSystemError, systemReason } from '@svc/kit/diagnostics/system-reason.ts';
import { decodeStrictUtf8 } from '@svc/protocol/strict-utf8.ts';

const largestFile = 1024 * 1024;
const smallestRead = 4096;

export type TextReading =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'absent' }
  /** It is there and cannot be read; `reason` is a clause for a person. */
  | { readonly kind: 'unreadable'; readonly reason: string; readonly cause?: unknown };

/** The text of a small file: at most 1 MiB of UTF-8, whatever kind of file it is read from. */
export function readSmallText(file: string): TextReading {
  const bytes = readBounded(file);
  if (!Buffer.isBuffer(bytes)) return bytes;
  if (bytes.length > largestFile) return { kind: 'unreadable', reason: 'it is larger than 1 MiB' };
  const text = decodeStrictUtf8(bytes);
  return text === null ? { kind: 'unreadable', reason: 'it is not UTF-8 text' } : { kind: 'text', text };
}

/** `E-IO-001` for a file that is there and cannot be read. */
export function unreadableFile(
  file: string,
  reading: { readonly reason: string; readonly cause?: unknown },
): Diagnostic {
  return new Diagnostic('E-IO-001', `cannot read ${file}: ${reading.reason}`, { cause: reading.cause });
}

function readBounded(file: string): Buffer | Exclude<TextReading, { kind: 'text' }> {
  let descriptor: number;
  try {
    descriptor = openSync(file, 'r');
  } catch (error) {
    return refusal(error);
  }
  try {
    return readWhole(descriptor, fstatSync(descriptor).size);
  } catch (error) {
    return refusal(error);
  } finally {
    closeSync(descriptor);
  }
}

/** All of it, and no more than a byte above the limit. The size is a guess: a pipe has none, and a file may be growing. */
function readWhole(descriptor: number, size: number): Buffer {
  let buffer = Buffer.allocUnsafe(Math.min(size, largestFile) + 1);
  let filled = 0;
  for (;;) {
    const count = readSync(descriptor, buffer, filled, buffer.length - filled, null);
    filled += count;
    if (count === 0 || filled > largestFile) return buffer.subarray(0, filled);
    if (filled < buffer.length) continue;
    const larger = Buffer.allocUnsafe(Math.min(buffer.length * 2 + smallestRead, largestFile + 1));
    buffer.copy(larger);
    buffer = larger;
  }
}

function refusal(error: unknown): Exclude<TextReading, { kind: 'text' }> {
  if (!isSystemError(error)) throw error;
  if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return { kind: 'absent' };
  return { kind: 'unreadable', reason: systemReason(error), cause: error };
}
