/** Writes trace lines whose number others decide: the first of each minute one by one, the rest of it as a count. */

import type { Clock } from '@svc/kit/clock.ts';
import type { TraceEvent } from './events.ts';

interface BoundedLinesOptions {
  readonly clock: Pick<Clock, 'monotonicMs' | 'after'>;
  /** Appends one line to the record; false when that failed. */
  readonly write: (event: TraceEvent) => boolean;
  /** The line that stands for so many of them. The keys of a session are few. */
  readonly counted: (key: string, count: number) => TraceEvent;
}

const minuteMs = 60_000;
/** How many bytes those of one minute may take with a line each; the line that reaches this is the last. */
const maxBytes = 256 * 1024;
/** At most what a line of the trace has beside the event: its ids, its time and their names. */
const lineBytes = 256;

/**
 * Each has a line while those of the last minute hold less than 256 KiB; from then on they are counted, one line a minute for each key. A line that cannot
 * be written is counted too, and tried again a minute later.
 */
export class BoundedLines {
  readonly #options: BoundedLinesOptions;
  /** Lines of the last minute, the oldest first. */
  #recent: { readonly atMs: number; readonly bytes: number }[] = [];
  #heldBytes = 0;
  readonly #counts = new Map<string, number>();
  #cancelTimer: (() => void) | null = null;

  constructor(options: BoundedLinesOptions) {
    this.#options = options;
  }

  /** `describe` makes the line, and is asked only where there is to be one. */
  add(key: string, describe: () => TraceEvent): void {
    if (!this.#hasRoom() || !this.#wrote(describe())) this.count(key, 1);
  }

  /** Lines that only their number is known of. */
  count(key: string, count: number): void {
    this.#counts.set(key, (this.#counts.get(key) ?? 0) + count);
    this.#cancelTimer ??= this.#options.clock.after(minuteMs, () => {
      this.#cancelTimer = null;
      this.#writeCounts();
    });
  }

  /** Writes what has been counted. Later ones are counted on; call it again after the last. */
  settle(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = null;
    this.#writeCounts();
  }

  /** Ends the wait for the next minute; what is counted is lost. */
  close(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = null;
    this.#counts.clear();
  }

  #hasRoom(): boolean {
    if (this.#heldBytes < maxBytes) return true;
    const pastMs = this.#options.clock.monotonicMs() - minuteMs;
    const kept = this.#recent.findIndex(({ atMs }) => atMs > pastMs);
    if (kept === 0) return false;
    const over = this.#recent.splice(0, kept === -1 ? this.#recent.length : kept);
    this.#heldBytes -= over.reduce((sum, { bytes }) => sum + bytes, 0);
    return this.#heldBytes < maxBytes;
  }

  #wrote(event: TraceEvent): boolean {
    if (!this.#options.write(event)) return false;
    const bytes = Buffer.byteLength(JSON.stringify(event)) + lineBytes;
    this.#recent.push({ atMs: this.#options.clock.monotonicMs(), bytes });
    this.#heldBytes += bytes;
    return true;
  }

  #writeCounts(): void {
    const { counted, write } = this.#options;
    const counts = [...this.#counts];
    this.#counts.clear();
    for (const [key, count] of counts) if (!write(counted(key, count))) this.count(key, count);
  }
}
