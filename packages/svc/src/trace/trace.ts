import type { TraceEventId } from '@svc/protocol/ids.ts';
import type { TraceEvent } from './events.ts';

/** Where a session's events are recorded. */
export interface Trace {
  /**
   * Appends one line, whole or not at all; `parent` is the event this one belongs to.
   * Throws the Diagnostic `E-IO-002` when it cannot: the session ends then (D1 "Task states" 2).
   */
  write(event: TraceEvent, parent: TraceEventId | null): TraceEventId;
  close(): void;
}
