/** Says in which trace a task is, and which span it is there: of its ids alone, so that nothing has to be kept. */

import { decodeTraceparent, encodeTraceparent, type SpanContext } from '@svc/protocol/traceparent.ts';

/** Which traces are kept: all or none, or the part of them that their ids decide about. */
export interface Sampler {
  /** From 0 to 1. */
  readonly ratio: number;
  /** Whether a caller that says what becomes of its trace decides. */
  readonly followsParent: boolean;
}

export const keepAll: Sampler = { ratio: 1, followsParent: true };

/** The place of a task among spans. */
export interface TaskTrace {
  readonly traceId: string;
  readonly spanId: string;
  /** The span of the caller; null for a task that begins its trace. */
  readonly parentSpanId: string | null;
  readonly isSampled: boolean;
}

/** `traceparent` is what came with the task; a malformed one counts as absent. */
export function taskTrace(taskId: string, traceparent: string | undefined, sampler: Sampler): TaskTrace {
  const parent = traceparent === undefined ? null : decodeTraceparent(traceparent);
  const traceId = parent?.traceId ?? traceIdOf(taskId);
  const isSampled = parent !== null && sampler.followsParent ? parent.isSampled : isKept(traceId, sampler);
  return { traceId, spanId: spanIdOf(taskId), parentSpanId: parent?.spanId ?? null, isSampled };
}

/** What a child reads of the delegation that its task comes from. */
export function delegationTraceparent({ traceId, isSampled }: TaskTrace, delegationId: string): string {
  return encodeTraceparent({ traceId, spanId: spanIdOf(delegationId), isSampled } satisfies SpanContext);
}

/** Ids are a prefix and a UUID in hex: its 16 bytes are the id of a trace, its last 8 that of a span, and neither is ever zero. */
export function traceIdOf(id: string): string {
  return id.slice(-32);
}

export function spanIdOf(id: string): string {
  return id.slice(-16);
}

/**
 * The last 56 bits of a trace id are chance, which programs that sample the same trace all compare in this way: by the first 52 of them, as many as a
 * number holds exactly.
 */
const comparedValues = 2 ** 52;

export function isKept(traceId: string, { ratio }: Sampler): boolean {
  return Number.parseInt(traceId.slice(-14, -1), 16) >= (1 - ratio) * comparedValues;
}
