import type { ByteSpan } from './object-store.ts';

/** What a `Range` header asks of so many bytes. */
export type RangeReading =
  /** No header, another unit, a malformed one, or several ranges: the answer is the whole (RFC 9110, 14.2). */
  { readonly kind: 'whole' } | { readonly kind: 'part'; readonly span: ByteSpan } | { readonly kind: 'unsatisfiable' };

const whole: RangeReading = { kind: 'whole' };
const unsatisfiable: RangeReading = { kind: 'unsatisfiable' };
const singleRange = /^bytes=(?:(\d{1,15})-(\d{1,15})?|-(\d{1,15}))$/i;

/** Reads one range of a representation of `size` bytes. */
export function parseRange(header: string | undefined, size: number): RangeReading {
  const found = header === undefined ? null : singleRange.exec(header.trim());
  if (found === null) return whole;
  const [, from, to, suffix] = found;
  if (suffix !== undefined) return part(Math.max(0, size - Number(suffix)), size - 1);
  const first = Number(from);
  if (to !== undefined && Number(to) < first) return whole;
  return part(first, Math.min(size - 1, Number(to ?? size - 1)));
}

function part(first: number, last: number): RangeReading {
  return first > last ? unsatisfiable : { kind: 'part', span: { first, last } };
}
