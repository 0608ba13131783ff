/** Asks the operating system for something where its refusal is an answer like any other. */

import { readdirSync } from 'node:fs';

import { isCoded, isErrno, isSystemError } from '../diagnostics/system-reason.ts';
import { ioFault } from './io-fault.ts';

/** What `operation` returns, or `otherwise` when the operating system refuses it. Any other error is a bug and is thrown. */
export function unlessRefused<Value, Otherwise>(operation: () => Value, otherwise: Otherwise): Value | Otherwise {
  try {
    return operation();
  } catch (error) {
    if (!isSystemError(error)) throw error;
    return otherwise;
  }
}

/** What `operation` returns, or `otherwise` when the operating system refuses it with one of `codes`. Any other error is thrown. */
export function unlessErrno<Value, Otherwise>(
  codes: readonly string[],
  operation: () => Value,
  otherwise: Otherwise,
): Value | Otherwise {
  try {
    return operation();
  } catch (error) {
    if (!isErrno(error, ...codes)) throw error;
    return otherwise;
  }
}

/** As `unlessRefused`, for work that goes on: a stream of it that breaks is a refusal too. */
export async function unlessRefusedLater<Value, Otherwise>(
  operation: () => Promise<Value>,
  otherwise: Otherwise,
): Promise<Value | Otherwise> {
  try {
    return await operation();
  } catch (error) {
    if (!isCoded(error)) throw error;
    return otherwise;
  }
}

/** The names in a directory; none where there is no directory. `E-IO-001` with `failing` for every other refusal. */
export function namesIfThere(directory: string, failing: string): string[] {
  try {
    return unlessErrno(['ENOENT', 'ENOTDIR'], () => readdirSync(directory), []);
  } catch (error) {
    throw ioFault(error, failing);
  }
}
