import type { TraceEventId } from '@svc/protocol/ids.ts';
import type { TraceEvent } from './events.ts';

/** A long text as its line will hold it: redacted and encoded before the line is written. */
export interface PreparedText {
  readonly text: string;
  /** The redacted text as JSON, in UTF-8. */
  readonly json: Uint8Array;
}

/** Where a session's events are recorded. */
export interface Trace {
  /**
   * Appends one line, whole or not at all; `parent` is the event this one belongs to.
   * With `prepared`, what it holds is written as the event's `text`.
   * Throws the Diagnostic `E-IO-002` when it cannot: the session ends then (D1 "Task states" 2).
   */
  write(event: TraceEvent, parent: TraceEventId | null, prepared?: PreparedText): TraceEventId;
  /** Does the slow part of recording a text of megabytes ahead of its line, in several turns of the event loop. */
  prepare(text: string): Promise<PreparedText>;
  close(): void;
}
