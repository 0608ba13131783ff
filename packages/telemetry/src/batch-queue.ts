/** Gathers records into batches and sends these one request at a time, so that a session never waits for a collector. */

import { atMost, type Clock, pause } from '@svc/kit/clock.ts';
import type { Posted } from './post-batch.ts';

/** What became of the records of one signal. */
export interface Delivered {
  /** Taken by the collector. */
  readonly sent: number;
  /** There was no room for them. */
  readonly dropped: number;
  /** Refused there, or not taken by the end. */
  readonly failed: number;
}

export interface QueueLimits {
  readonly maxQueued: number;
  readonly maxInBatch: number;
  /** How long a record waits for others. */
  readonly delayMs: number;
}

interface BatchQueueRequest<Item> extends QueueLimits {
  readonly post: (items: readonly Item[]) => Promise<Posted>;
  /** How much memory a record takes, about. */
  readonly sizeOf: (item: Item) => number;
  readonly clock: Clock;
  readonly onLost: (records: number) => void;
}

/** Whatever records hold: a prompt is up to 64 KiB. */
const maxQueuedBytes = 32 * 1024 * 1024;
const maxBatchBytes = 4 * 1024 * 1024;
const firstPauseMs = 1000;
const maxPauseMs = 30_000;
/** At the end of a session there is no time for more. */
const lastPauseMs = 200;

/** A bounded queue in front of one endpoint. What is taken out of it has been sent, or is counted as lost. */
export class BatchQueue<Item> {
  readonly #request: BatchQueueRequest<Item>;
  #items: { readonly item: Item; readonly size: number }[] = [];
  #bytes = 0;
  #sent = 0;
  #dropped = 0;
  #failed = 0;
  #why: string | null = null;
  #isAbsent = false;
  #sending: Promise<void> | null = null;
  #takeBackStart: (() => void) | null = null;
  /** Aborted when the session ends: no long pause is kept any more. */
  readonly #ending = new AbortController();
  /** On the clock that only rises, when the last request has to be answered; null until the session ends. */
  #endsMs: number | null = null;
  /** Nothing is sent any more. */
  #isClosed = false;

  constructor(request: BatchQueueRequest<Item>) {
    this.#request = request;
  }

  get delivered(): Delivered {
    return { sent: this.#sent, dropped: this.#dropped, failed: this.#failed };
  }

  get isEmpty(): boolean {
    return this.#items.length === 0;
  }

  /** Why the last request that failed did; null without one. A clause for a person. */
  get why(): string | null {
    return this.#why;
  }

  /** Whether the collector has no place for what this queue sends. */
  get isAbsent(): boolean {
    return this.#isAbsent;
  }

  /** The newest is dropped where there is no room. What comes once the queue is closed has failed. */
  add(item: Item): void {
    if (this.#isClosed) {
      this.#lose(1);
      return;
    }
    const { maxQueued, maxInBatch, delayMs, sizeOf } = this.#request;
    const size = sizeOf(item);
    if (this.#items.length >= maxQueued || this.#bytes + size > maxQueuedBytes) {
      this.#dropped += 1;
      this.#request.onLost(1);
      return;
    }
    this.#items.push({ item, size });
    this.#bytes += size;
    this.#startWithin(this.#items.length >= maxInBatch ? 0 : delayMs);
  }

  /** Resolves once less than a batch waits. */
  async caughtUp(): Promise<void> {
    if (this.#items.length >= this.#request.maxInBatch) await this.#start();
  }

  /** Sends what is left, again and again while that fails, until `withinMs` have passed; the rest is counted as failed. */
  async close(withinMs: number): Promise<void> {
    const { clock } = this.#request;
    this.#endsMs = clock.monotonicMs() + withinMs;
    this.#ending.abort();
    if (!this.isEmpty) await atMost(clock, withinMs, this.#start());
    this.#isClosed = true;
    this.#takeBackStart?.();
    this.#lose(this.#items.length);
    this.#items = [];
  }

  #startWithin(ms: number): void {
    if (this.#sending !== null) return;
    if (this.#takeBackStart !== null) {
      if (ms > 0) return;
      this.#takeBackStart();
    }
    this.#takeBackStart = this.#request.clock.after(ms, () => void this.#start());
  }

  #start(): Promise<void> {
    this.#takeBackStart?.();
    this.#takeBackStart = null;
    this.#sending ??= this.#send().finally(() => {
      this.#sending = null;
    });
    return this.#sending;
  }

  /** Until nothing is left, or there is no time for another request. */
  async #send(): Promise<void> {
    let failures = 0;
    while (!this.isEmpty) {
      const batch = this.#nextBatch();
      const posted = await this.#request.post(batch);
      if (this.#isClosed) return;
      if (posted.kind !== 'taken') this.#why = posted.why;
      this.#isAbsent = posted.kind === 'refused' && posted.isAbsent;
      if (posted.kind === 'later') {
        failures += 1;
        if (!(await this.#paused(posted.afterMs, failures))) return;
        continue;
      }
      failures = 0;
      this.#take(batch.length, posted.kind === 'taken' ? Math.min(posted.rejected, batch.length) : batch.length);
    }
  }

  #nextBatch(): readonly Item[] {
    let bytes = 0;
    const batch: Item[] = [];
    for (const { item, size } of this.#items.slice(0, this.#request.maxInBatch)) {
      bytes += size;
      if (batch.length > 0 && bytes > maxBatchBytes) break;
      batch.push(item);
    }
    return batch;
  }

  #take(records: number, lost: number): void {
    for (const { size } of this.#items.splice(0, records)) this.#bytes -= size;
    this.#sent += records - lost;
    this.#lose(lost);
  }

  #lose(records: number): void {
    this.#failed += records;
    if (records > 0) this.#request.onLost(records);
  }

  /** False when the end of the session leaves no time for another request. */
  async #paused(afterMs: number | null, failures: number): Promise<boolean> {
    const { clock } = this.#request;
    const askedMs = afterMs ?? 0;
    if (this.#endsMs === null) {
      const usualMs = Math.min(maxPauseMs, firstPauseMs * 2 ** (failures - 1));
      const waitMs = Math.max(usualMs, askedMs) + this.#jitterMs(usualMs);
      const began = clock.monotonicMs();
      if (await isKept(pause(clock, waitMs, this.#ending.signal))) return true;
      // The session ends meanwhile: one more request is made at once, where the collector did not ask for a longer pause.
      return askedMs === 0 || this.#lastPause(askedMs - (clock.monotonicMs() - began));
    }
    return await this.#lastPause(Math.max(lastPauseMs, askedMs));
  }

  async #lastPause(ms: number): Promise<boolean> {
    const { clock } = this.#request;
    const leftMs = (this.#endsMs ?? 0) - clock.monotonicMs();
    if (ms >= leftMs) return false;
    await new Promise<void>((resolve) => void clock.after(Math.max(0, ms), resolve));
    return !this.#isClosed;
  }

  /** Up to a quarter more, so that many capsules do not come back at once. */
  #jitterMs(ms: number): number {
    const [chance = 0] = this.#request.clock.randomBytes(1);
    return Math.floor((ms / 4) * (chance / 256));
  }
}

/** False for a pause that was cut off. */
async function isKept(pausing: Promise<void>): Promise<boolean> {
  return await pausing.then(
    () => true,
    () => false,
  );
}
