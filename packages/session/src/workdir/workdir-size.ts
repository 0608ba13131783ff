/** Holds the size of the workdir against its limit. */

import { setImmediate } from 'node:timers/promises';

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { HeldDirectory } from '@svc/kit/files/held-directory.ts';
import type { Clock } from '@svc/kit/clock.ts';
import { unlessRefused } from '@svc/kit/files/unless-refused.ts';
import { treeBytes, UnmeasurableTree } from './tree-bytes.ts';

type UnlinkedBytes = (workdir: string) => Generator<void, number>;

/** Measuring never takes more than this share of the time between two measures. */
const restPerMeasure = 20;
/** How long measuring keeps the thread to itself: on its way to the model a question needs it again and again. */
const sliceMs = 1;
/** Between two slices of a measure that nobody waits for. */
const restMs = 2;
/** How many steps a measurement takes between two looks at the clock. */
const stepsPerLook = 32;
/** How long a turn waits for a measure before it asks the model meanwhile. */
const patienceMs = 25;

export interface WorkdirLimit {
  /** Canonical. */
  readonly workdir: string;
  readonly maxBytes: number;
  /** Who runs this process. */
  readonly uid: number;
  readonly clock: Pick<Clock, 'monotonicMs' | 'after'>;
  /** Whether programs run that may hold files they have removed. */
  readonly programsRun: () => boolean;
}

/**
 * Holds the workdir against `capabilities.resources.workdir_max_bytes`. A breach is the Diagnostic `E-RUN-028` (D1 "Task states" 2), which stays;
 * what cannot be looked at is one too. A large tree is measured while the model is asked, and the less often the longer that takes.
 */
export class WorkdirSize {
  readonly #limit: WorkdirLimit;
  readonly #breached = new AbortController();
  #breach: Diagnostic | null = null;
  #measuring: Promise<void> | null = null;
  #notBeforeMs = 0;
  /** What has changed since may be missing in the last measure: one was wanted and did not begin. */
  #isOwed = false;
  #waiting = 0;
  /** How long the measurement under way has rested. */
  #restedMs = 0;
  #isClosed = false;

  constructor(limit: WorkdirLimit) {
    this.#limit = limit;
  }

  /** Aborted at a breach, whose Diagnostic `check` and `settled` throw. */
  get breached(): AbortSignal {
    return this.#breached.signal;
  }

  /** Begins a measure, unless one is under way or the last one was a short while ago. */
  begin(): void {
    const { clock } = this.#limit;
    if (this.#breach !== null || this.#isClosed) return;
    this.#isOwed = this.#measuring !== null || clock.monotonicMs() < this.#notBeforeMs;
    if (this.#isOwed) return;
    this.#measuring = this.#measure().finally(() => {
      this.#measuring = null;
    });
  }

  /** Begins a measure and waits for it, but not for long: `settled` is for the rest. Throws the Diagnostic of a breach. */
  async check(): Promise<void> {
    this.begin();
    if (this.#measuring !== null) await this.#patiently(this.#measuring);
    if (this.#breach !== null) throw this.#breach;
  }

  /** Waits for the measure under way, unless the signal is aborted before. Throws the Diagnostic of a breach. */
  async settled(signal: AbortSignal): Promise<void> {
    if (this.#measuring !== null) await this.#waitFor(unlessAborted(this.#measuring, signal));
    if (this.#breach !== null) throw this.#breach;
  }

  /** As `settled`, after a measure of what no other has seen: a task must not end well with a workdir that outgrew its limit. */
  async last(signal: AbortSignal): Promise<void> {
    await this.settled(signal);
    if (!this.#isOwed || signal.aborted) return;
    this.#notBeforeMs = 0;
    this.begin();
    await this.settled(signal);
  }

  /** Ends the measure under way, which then finds nothing. */
  close(): void {
    this.#isClosed = true;
  }

  async #measure(): Promise<void> {
    const { clock, maxBytes } = this.#limit;
    const startedMs = clock.monotonicMs();
    this.#restedMs = 0;
    // Few capsules start programs before their model has answered.
    const unlinked = this.#limit.programsRun() ? (await import('./unlinked-bytes.ts')).unlinkedBytes : null;
    const found = await this.#inSlices(this.#found(unlinked));
    const endedMs = clock.monotonicMs();
    this.#notBeforeMs = endedMs + (endedMs - startedMs - this.#restedMs) * restPerMeasure;
    if (found === null || (typeof found === 'number' && found <= maxBytes)) return;
    this.#breach = typeof found === 'number' ? this.#outgrown(found) : this.#unmeasurable(found);
    this.#breached.abort(this.#breach);
  }

  /** A link that has come to be on the way leads to what is not the workdir, and does not count. */
  *#found(unlinked: UnlinkedBytes | null): Generator<void, number | UnmeasurableTree> {
    const { workdir, uid } = this.#limit;
    const base = unlessRefused(() => HeldDirectory.open(workdir), null);
    if (base === null) return 0;
    try {
      const bytes = yield* treeBytes(base, uid);
      return unlinked === null ? bytes : bytes + (yield* unlinked(workdir));
    } catch (error) {
      if (error instanceof UnmeasurableTree) return error;
      throw error;
    } finally {
      base.close();
    }
  }

  /** Returns null when it was closed meanwhile. */
  async #inSlices<T>(work: Generator<void, T>): Promise<T | null> {
    const { clock } = this.#limit;
    let sliceEndMs = clock.monotonicMs() + sliceMs;
    for (let steps = 1; ; steps += 1) {
      const step = work.next();
      if (step.done === true) return step.value;
      if (steps % stepsPerLook !== 0 || clock.monotonicMs() < sliceEndMs) continue;
      if (this.#waiting > 0) await setImmediate();
      else await this.#rest();
      if (this.#isClosed) {
        work.return(undefined as T);
        return null;
      }
      sliceEndMs = clock.monotonicMs() + sliceMs;
    }
  }

  async #rest(): Promise<void> {
    const { clock } = this.#limit;
    const startedMs = clock.monotonicMs();
    await new Promise<void>((resolve) => void clock.after(restMs, resolve));
    this.#restedMs += clock.monotonicMs() - startedMs;
  }

  async #patiently(measuring: Promise<void>): Promise<void> {
    let cancelTimer = (): void => {};
    const patience = new Promise<void>((resolve) => {
      cancelTimer = this.#limit.clock.after(patienceMs, resolve);
    });
    await this.#waitFor(Promise.race([measuring, patience]));
    cancelTimer();
  }

  /** What is waited for is measured without rests. */
  async #waitFor(measured: Promise<void>): Promise<void> {
    this.#waiting += 1;
    try {
      await measured;
    } finally {
      this.#waiting -= 1;
    }
  }

  #outgrown(bytes: number): Diagnostic {
    const { workdir, maxBytes } = this.#limit;
    return new Diagnostic('E-RUN-028', `the workdir holds ${bytes} bytes, more than the ${maxBytes} it may hold`, {
      hint: `raise capabilities.resources.workdir_max_bytes, or clean ${workdir}`,
    });
  }

  #unmeasurable({ message }: UnmeasurableTree): Diagnostic {
    const { workdir, maxBytes } = this.#limit;
    return new Diagnostic('E-RUN-028', `the workdir cannot be held to ${maxBytes} bytes: ${message}`, {
      hint: `remove it from ${workdir}, or make it one that the user who runs svc can look at`,
    });
  }
}

async function unlessAborted(work: Promise<void>, signal: AbortSignal): Promise<void> {
  let stopListening = (): void => {};
  const aborted = new Promise<void>((resolve) => {
    const onAbort = (): void => resolve();
    signal.addEventListener('abort', onAbort, { once: true });
    stopListening = () => signal.removeEventListener('abort', onAbort);
  });
  if (!signal.aborted) await Promise.race([work, aborted]);
  stopListening();
}
