/** Says why requests for files are refused, and records those that were. */

import type { Clock } from '@svc/kit/clock.ts';
import type { TraceEvent } from '../trace/events.ts';
import { isSystemError } from '@svc/kit/diagnostics/system-reason.ts';
import { HttpRefusal } from '@svc/kit/http/refusal.ts';
import { resourceRefusals, type ResourceRefusalCode } from '@svc/protocol/resource-refusals.ts';

export type RefusedRequest = Extract<
  TraceEvent,
  { readonly event_type: 'resource_list' | 'resource_read' | 'peer_handle_redeem' }
>;
export type RefusalCount = Extract<TraceEvent, { readonly event_type: 'resource_refusals' }>;

interface RefusedRequestsOptions {
  readonly clock: Pick<Clock, 'monotonicMs' | 'after'>;
  /** Appends one line to the record; false when that failed. */
  readonly write: (event: RefusedRequest | RefusalCount) => boolean;
}

const minuteMs = 60_000;
/** How many bytes the refusals of one minute may take with a line each; the line that reaches this is the last. */
const mostBytes = 256 * 1024;
/** At most what a line of the trace has beside the event: its ids, its time and their names. */
const lineBytes = 256;

/**
 * Records requests that were refused, so that no stranger decides how long the record gets: each has a line while those of the last minute
 * hold less than 256 KiB; from then on they are counted, one line a minute for each outcome (D3 "Events"). A line that cannot be written is
 * counted too, and tried again a minute later: only what the session does itself may end it.
 */
export class RefusedRequests {
  readonly #options: RefusedRequestsOptions;
  /** Lines of the last minute, the oldest first. */
  #recent: { readonly atMs: number; readonly bytes: number }[] = [];
  #heldBytes = 0;
  readonly #counts = new Map<string, { readonly status: number; count: number }>();
  #takeBack: (() => void) | null = null;

  constructor(options: RefusedRequestsOptions) {
    this.#options = options;
  }

  /** `describe` makes the line, and is asked only where there is to be one. */
  add(outcome: string, status: number, describe: () => RefusedRequest): void {
    if (!this.#hasRoom() || !this.#wrote(describe())) this.count(outcome, status, 1);
  }

  /** Refusals of which nothing else is known. */
  count(outcome: string, status: number, count: number): void {
    const known = this.#counts.get(outcome);
    if (known === undefined) this.#counts.set(outcome, { status, count });
    else known.count += count;
    this.#takeBack ??= this.#options.clock.after(minuteMs, () => {
      this.#takeBack = null;
      this.#writeCounts();
    });
  }

  /** Writes what has been counted. Later refusals are counted on; call it again after the last. */
  settle(): void {
    this.#takeBack?.();
    this.#takeBack = null;
    this.#writeCounts();
  }

  /** Ends the wait for the next minute; what is counted is lost. */
  close(): void {
    this.#takeBack?.();
    this.#takeBack = null;
    this.#counts.clear();
  }

  #hasRoom(): boolean {
    if (this.#heldBytes < mostBytes) return true;
    const pastMs = this.#options.clock.monotonicMs() - minuteMs;
    const kept = this.#recent.findIndex(({ atMs }) => atMs > pastMs);
    if (kept === 0) return false;
    const over = this.#recent.splice(0, kept === -1 ? this.#recent.length : kept);
    this.#heldBytes -= over.reduce((sum, { bytes }) => sum + bytes, 0);
    return this.#heldBytes < mostBytes;
  }

  #wrote(event: RefusedRequest): boolean {
    if (!this.#options.write(event)) return false;
    const bytes = Buffer.byteLength(JSON.stringify(event)) + lineBytes;
    this.#recent.push({ atMs: this.#options.clock.monotonicMs(), bytes });
    this.#heldBytes += bytes;
    return true;
  }

  #writeCounts(): void {
    const counted = [...this.#counts];
    this.#counts.clear();
    for (const [outcome, { status, count }] of counted) {
      const isWritten = this.#options.write({ event_type: 'resource_refusals', outcome, status, count });
      if (!isWritten) this.count(outcome, status, count);
    }
  }
}

/** The refusal as a server answers it. */
export function resourceRefusal(code: ResourceRefusalCode): HttpRefusal {
  const [status, message] = resourceRefusals[code];
  return new HttpRefusal(status, code, message, code === 'method_not_allowed' ? { allow: 'GET' } : undefined);
}

/** What a failed file operation means to a reader; undefined when the error does not come from the operating system. */
export function refusalOfSystemError(error: unknown): ResourceRefusalCode | undefined {
  if (!isSystemError(error)) return undefined;
  switch (error.code) {
    case 'ENOENT':
    case 'ENOTDIR':
    case 'ENAMETOOLONG':
      return 'not_found';
    // What opening a socket answers.
    case 'ENXIO':
      return 'not_a_regular_file';
    default:
      return 'io_error';
  }
}
