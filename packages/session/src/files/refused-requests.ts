/** Says why requests for files are refused, and records those that were. */

import type { Reply } from '@svc/kit/http/reply.ts';
import type { Clock } from '@svc/kit/clock.ts';
import { isSystemError } from '@svc/kit/diagnostics/system-reason.ts';
import { HttpRefusal } from '@svc/kit/http/refusal.ts';
import { resourceRefusals, type ResourceRefusalCode } from '@svc/protocol/resource-refusals.ts';
import { BoundedLines } from '@svc/record/trace/bounded-lines.ts';
import type { TraceEvent } from '@svc/record/trace/events.ts';

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

/**
 * Records requests that were refused, so that no stranger decides how long the record gets: each has a line while those of the last minute
 * hold less than 256 KiB; from then on they are counted, one line a minute for each outcome (D3 "Events"). A line that cannot be written is
 * counted too, and tried again a minute later: only what the session does itself may end it.
 */
export class RefusedRequests {
  readonly #lines: BoundedLines;

  constructor({ clock, write }: RefusedRequestsOptions) {
    this.#lines = new BoundedLines({
      clock,
      write: (event) => write(event as RefusedRequest | RefusalCount),
      counted: (key, count) => {
        const [outcome = '', status] = key.split(' ');
        return { event_type: 'resource_refusals', outcome, status: Number(status), count };
      },
    });
  }

  /** `describe` makes the line, and is asked only where there is to be one. */
  add(outcome: string, status: number, describe: () => RefusedRequest): void {
    this.#lines.add(`${outcome} ${status}`, describe);
  }

  /** Refusals that only their number is known of. */
  count(outcome: string, status: number, count: number): void {
    this.#lines.count(`${outcome} ${status}`, count);
  }

  /** Writes what has been counted. Later refusals are counted on; call it again after the last. */
  settle(): void {
    this.#lines.settle();
  }

  /** Ends the wait for the next minute; what is counted is lost. */
  close(): void {
    this.#lines.close();
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

/** What became of a request: the reply, and what is to be recorded of it. */
export interface PlaneAnswer {
  readonly reply: Reply;
  readonly outcome: 'ok' | ResourceRefusalCode;
  /** How many bytes were read; present for a file. */
  readonly bytes?: number;
  /** How many entries a whole listing has. */
  readonly entries?: number;
}

export function refused(code: ResourceRefusalCode): PlaneAnswer {
  return { outcome: code, reply: resourceRefusal(code).reply };
}
