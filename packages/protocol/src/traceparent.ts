/** The header with which one program names to another the span that its request belongs to (W3C Trace Context, version 00). */

/** A span of some program. */
export interface SpanContext {
  /** 32 lower case hex characters, not all zero. */
  readonly traceId: string;
  /** 16 lower case hex characters, not all zero. */
  readonly spanId: string;
  /** Whether its maker keeps it. */
  readonly isSampled: boolean;
}

const version00 = /^00-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})$/;

/** Returns null for a text of another form, which counts as absent. */
export function decodeTraceparent(text: string): SpanContext | null {
  const [, traceId, spanId, flags] = version00.exec(text) ?? [];
  if (traceId === undefined || spanId === undefined || flags === undefined) return null;
  return { traceId, spanId, isSampled: (Number.parseInt(flags, 16) & 1) === 1 };
}

export function encodeTraceparent({ traceId, spanId, isSampled }: SpanContext): string {
  return `00-${traceId}-${spanId}-${isSampled ? '01' : '00'}`;
}
