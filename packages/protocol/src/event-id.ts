/** Reads the ids of frames, as the header that asks for a replay names them. */

import { maxEventId, type EventId } from './frames.ts';

const decimalDigits = /^[0-9]+$/;

/**
 * The value of a `Last-Event-ID` header: decimal digits up to 2^64-1, else it is not a number and counts as absent
 * (D1 "Replay" 3).
 */
export function parseLastEventId(header: string | undefined): EventId | undefined {
  if (header === undefined || !decimalDigits.test(header)) return undefined;
  // Longer than any 64-bit number even without leading zeros: not worth turning into a big integer.
  const digits = header.replace(/^0+(?=\d)/, '');
  if (digits.length > 20) return undefined;
  const id = BigInt(digits);
  return id <= maxEventId ? id : undefined;
}
