/** Reads text files that an operator wrote. */

import { decodeStrictUtf8 } from '@svc/protocol/strict-utf8.ts';
import { Diagnostic } from '../diagnostics/diagnostic.ts';
import { isSystemError, systemReason } from '../diagnostics/system-reason.ts';
import { hintFor } from './io-fault.ts';
import { readFileUpTo } from './read-up-to.ts';

const largestFile = 1024 * 1024;

export type TextReading =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'absent' }
  /** It is there and cannot be read; `reason` is a clause for a person, `hint` what to do. */
  | { readonly kind: 'unreadable'; readonly reason: string; readonly hint?: string; readonly cause?: unknown };

/** The text of a small file: at most 1 MiB of UTF-8. A pipe or a device is unreadable, unless it was handed to this process (`readFileUpTo`). */
export function readSmallText(file: string): TextReading {
  let bytes: Buffer | undefined;
  try {
    bytes = readFileUpTo(file, largestFile);
  } catch (error) {
    return refusal(error);
  }
  return bytes === undefined ? { kind: 'unreadable', reason: 'it is larger than 1 MiB' } : decodeText(bytes);
}

/** The bytes of a file as text. */
export function decodeText(bytes: Buffer): TextReading {
  const text = decodeStrictUtf8(bytes);
  return text === null ? { kind: 'unreadable', reason: 'it is not UTF-8 text' } : { kind: 'text', text };
}

/** The same; null where there is no such file. `E-IO-001` for one that is there and cannot be read. */
export function readTextIfThere(file: string): string | null {
  const reading = readSmallText(file);
  if (reading.kind === 'unreadable') throw unreadableFile(file, reading);
  return reading.kind === 'text' ? reading.text : null;
}

/** `E-IO-001` for a file that is there and cannot be read. */
export function unreadableFile(
  file: string,
  {
    reason,
    cause,
    hint = hintFor(cause),
  }: { readonly reason: string; readonly hint?: string; readonly cause?: unknown },
): Diagnostic {
  return new Diagnostic('E-IO-001', `cannot read ${file}: ${reason}`, {
    cause,
    ...(hint === undefined ? {} : { hint }),
  });
}

function refusal(error: unknown): TextReading {
  if (!isSystemError(error)) throw error;
  if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return { kind: 'absent' };
  return { kind: 'unreadable', reason: systemReason(error), cause: error };
}
