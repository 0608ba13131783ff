/** Tries what the operating system may refuse. */

import { isSystemError } from '../diagnostics/system-reason.ts';

/** What `operation` returns, or `otherwise` when the operating system refuses it. Any other error is a bug and is thrown. */
export function unlessRefused<Value, Otherwise>(operation: () => Value, otherwise: Otherwise): Value | Otherwise {
  try {
    return operation();
  } catch (error) {
    if (!isSystemError(error)) throw error;
    return otherwise;
  }
}
