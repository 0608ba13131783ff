/** Writes what tools note while one call of the model runs, each line where a reader looks for it. */

import { diagnosticOf } from '@svc/kit/diagnostics/diagnostic.ts';
import type { TraceEvent } from '@svc/record/trace/events.ts';

/** What a call has changed stands behind its own line, which is written when it has ended; a step of a plan has a line of its own. */
export class CallLines {
  readonly #write: (event: TraceEvent) => void;
  #changes: TraceEvent[] = [];
  #failure: unknown = null;

  constructor(write: (event: TraceEvent) => void) {
    this.#write = write;
  }

  /** Whether everything up to here could be written. */
  record(event: TraceEvent): boolean {
    if (event.event_type === 'file_change') this.#changes.push(event);
    else {
      this.#note(event);
      this.settle();
    }
    return this.#failure === null;
  }

  /** The call is to fail with this; only the first failure counts. */
  fail(error: unknown): void {
    this.#failure ??= error;
  }

  /** Asks what the call is to fail with if that fails, whatever its tool makes of it. */
  readonly held = async <Answer>(ask: () => Promise<Answer>): Promise<Answer> => {
    try {
      return await ask();
    } catch (error) {
      this.fail(error);
      throw error;
    }
  };

  /** Writes what waits for the line of a call. */
  settle(): void {
    const changes = this.#changes;
    this.#changes = [];
    for (const change of changes) this.#note(change);
  }

  throwIfFailed(): void {
    if (this.#failure !== null) throw this.#failure;
  }

  #note(event: TraceEvent): void {
    this.#failure ??= diagnosticOf(() => this.#write(event));
  }
}
