/** Sends one request to a collector and says what became of it. */

import type { IncomingMessage } from 'node:http';

import type { Clock } from '@svc/kit/clock.ts';
import { type Connections, responseOf } from '@svc/kit/net/connections.ts';
import { isNetworkError, networkReason } from '@svc/kit/net/network-reason.ts';
import type { SignalSettings } from './telemetry-settings.ts';

/** What became of one request. */
export type Posted =
  /** `rejected` records of it were thrown away there. */
  | { readonly kind: 'taken'; readonly rejected: number }
  /** It may be sent again, after so long as the collector asked for; null where it asked for nothing. `why` is a clause for a person. */
  | { readonly kind: 'later'; readonly afterMs: number | null; readonly why: string }
  /** `isAbsent` where the collector takes nothing of this kind at all. */
  | { readonly kind: 'refused'; readonly why: string; readonly isAbsent: boolean };

/** Statuses that mean: not now (opentelemetry-proto "OTLP/HTTP Response"). */
const passing: ReadonlySet<number> = new Set([429, 502, 503, 504]);
/** Statuses of a path that is not there: many collectors take traces alone. */
const absent: ReadonlySet<number> = new Set([404, 405, 501]);
/** More of an answer is not read. */
const maxAnswerBytes = 64 * 1024;
/** A collector that asks for a longer pause gets this one. */
const maxPauseMs = 600_000;

/** Never rejects for what a collector or a network does. Follows no redirect, and reads no more of an answer than it has to. */
export async function postBatch(
  { url, headers, timeoutMs, encoding }: SignalSettings,
  body: Uint8Array,
  {
    connections,
    clock,
  }: { readonly connections: Pick<Connections, 'send'>; readonly clock: Pick<Clock, 'now' | 'after'> },
): Promise<Posted> {
  const asked = connections.send(url, {
    method: 'POST',
    headers: {
      'user-agent': 'svc',
      ...headers,
      'content-type': encoding === 'json' ? 'application/json' : 'application/x-protobuf',
      'content-length': body.length,
    },
  });
  let isLate = false;
  const cancelTimer = clock.after(timeoutMs, () => {
    isLate = true;
    asked.destroy();
  });
  try {
    const response = responseOf(asked);
    asked.end(body);
    return await read(await response, clock);
  } catch (error) {
    if (isLate) return { kind: 'later', afterMs: null, why: `no answer within ${timeoutMs / 1000} s` };
    if (!isNetworkError(error)) throw error;
    return { kind: 'later', afterMs: null, why: networkReason(error) };
  } finally {
    cancelTimer();
  }
}

async function read(response: IncomingMessage, clock: Pick<Clock, 'now'>): Promise<Posted> {
  const status = response.statusCode ?? 0;
  const answer = await beginningOf(response);
  if (status >= 200 && status < 300) {
    return { kind: 'taken', rejected: rejectedIn(answer, response.headers['content-type'] ?? '') };
  }
  const why = `it answered ${status}`;
  if (!passing.has(status)) return { kind: 'refused', why, isAbsent: absent.has(status) };
  return { kind: 'later', afterMs: retryAfterMs(response.headers['retry-after'], clock.now()), why };
}

/** Empty for one that is longer, and for one that never comes to its end: what became of the records, the status has said. */
async function beginningOf(response: IncomingMessage): Promise<Buffer> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const piece of response as AsyncIterable<Buffer>) {
      pieces.push(piece);
      bytes += piece.length;
      if (bytes > maxAnswerBytes) return Buffer.alloc(0);
    }
  } catch (error) {
    if (!isNetworkError(error)) throw error;
    return Buffer.alloc(0);
  }
  return Buffer.concat(pieces);
}

/** Seconds, or a date. Returns null for anything else. */
function retryAfterMs(header: string | undefined, now: number): number | null {
  if (header === undefined) return null;
  const ms = /^\d{1,9}$/.test(header) ? Number(header) * 1000 : Date.parse(header) - now;
  return Number.isNaN(ms) ? null : Math.min(Math.max(0, ms), maxPauseMs);
}

/** Field 1 of `partial_success`, which is field 1 of the answer: how many records the collector threw away. */
function rejectedIn(answer: Uint8Array, contentType: string): number {
  if (answer.length === 0) return 0;
  return /^application\/json\b/i.test(contentType) ? rejectedInJson(answer) : rejectedInProtobuf(answer);
}

const rejectedKeys = ['rejectedSpans', 'rejectedDataPoints', 'rejectedLogRecords'] as const;

function rejectedInJson(answer: Uint8Array): number {
  try {
    const told = JSON.parse(Buffer.from(answer).toString('utf8')) as {
      readonly partialSuccess?: Readonly<Partial<Record<(typeof rejectedKeys)[number], unknown>>> | null;
    } | null;
    const numbers = rejectedKeys.map((key) => Number(told?.partialSuccess?.[key] ?? 0));
    return Math.max(0, ...numbers.filter((number) => Number.isSafeInteger(number)));
  } catch (error) {
    // What it answers beside its status is its own affair.
    if (!(error instanceof SyntaxError)) throw error;
    return 0;
  }
}

function rejectedInProtobuf(answer: Uint8Array): number {
  // 0x0a is the tag of the message in field 1, 0x08 that of the number in field 1.
  if (answer[0] !== 0x0a || answer[2] !== 0x08) return 0;
  let number = 0;
  for (let at = 3, shift = 1; at < Math.min(answer.length, 10); at += 1, shift *= 0x80) {
    const byte = answer[at] ?? 0;
    number += (byte & 0x7f) * shift;
    if (byte < 0x80) return number;
  }
  return 0;
}
