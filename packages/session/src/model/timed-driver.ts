/** Ends calls of a driver that take too long. */

import type { Clock } from '@svc/kit/clock.ts';
import {
  codedFailure,
  type Driver,
  type DriverOutcome,
  type DriverTask,
  type InferenceCall,
  type InferenceRequest,
} from './driver.ts';

/** How long a model may take: `inference.timeout_secs`. */
interface InferenceLimits {
  /** Without a sign of life. */
  readonly idleMs: number;
  /** The time for a whole call. */
  readonly totalMs: number;
}

type LimitClock = Pick<Clock, 'monotonicMs' | 'after'>;

/**
 * A driver whose calls end at the limits: such a call is aborted, and its outcome is `failed` with `E-RUN-064`, the limit and its key. While a call of
 * the model is carried out in the middle of an inference both clocks stand still.
 */
export function timedDriver(driver: Driver, limits: InferenceLimits, clock: LimitClock): Driver {
  return {
    label: driver.label,
    openTask: () => timedTask(driver.openTask(), limits, clock),
    close: () => driver.close(),
  };
}

function timedTask(task: DriverTask, limits: InferenceLimits, clock: LimitClock): DriverTask {
  return {
    infer: async (request, call) => await inferInTime(task, { request, call }, new CallLimits(limits, clock)),
    close: () => task.close(),
  };
}

async function inferInTime(
  task: DriverTask,
  { request, call }: { readonly request: InferenceRequest; readonly call: InferenceCall },
  limits: CallLimits,
): Promise<DriverOutcome> {
  const ending = new AbortController();
  const onAbort = (): void => ending.abort(call.signal.reason);
  call.signal.addEventListener('abort', onAbort, { once: true });
  if (call.signal.aborted) onAbort();
  limits.start(() => ending.abort(new Error('the time of the call is over')));
  try {
    const outcome = await task.infer(request, {
      ...call,
      signal: ending.signal,
      onText: (text) => {
        limits.sign();
        call.onText(text);
      },
      onThinking: (text) => {
        limits.sign();
        call.onThinking(text);
      },
      callTool: async (block) => {
        limits.pause();
        try {
          return await call.callTool(block);
        } finally {
          limits.resume();
        }
      },
      onSign: () => limits.sign(),
    });
    return limits.passed === null ? outcome : codedFailure('E-RUN-064', limits.passed);
  } finally {
    limits.stop();
    call.signal.removeEventListener('abort', onAbort);
  }
}

/** The two clocks of one call. A sign of life costs a look at the time: the one timer finds out itself that it has come too early. */
class CallLimits {
  readonly #limits: InferenceLimits;
  readonly #clock: LimitClock;
  #onPassed: () => void = () => {};
  #startedMs = 0;
  #signMs = 0;
  #pausedMs = 0;
  #pauses = 0;
  #cancelTimer: () => void = () => {};
  /** Which limit was passed, for a person; null while none is. */
  passed: string | null = null;

  constructor(limits: InferenceLimits, clock: LimitClock) {
    this.#limits = limits;
    this.#clock = clock;
  }

  start(onPassed: () => void): void {
    this.#onPassed = onPassed;
    this.#startedMs = this.#clock.monotonicMs();
    this.#signMs = this.#startedMs;
    this.#wait();
  }

  sign(): void {
    this.#signMs = this.#clock.monotonicMs();
  }

  pause(): void {
    this.#pauses += 1;
    if (this.#pauses > 1) return;
    this.#cancelTimer();
    this.#pausedMs = this.#clock.monotonicMs();
  }

  resume(): void {
    this.#pauses -= 1;
    if (this.#pauses > 0) return;
    this.sign();
    this.#startedMs += this.#signMs - this.#pausedMs;
    this.#wait();
  }

  stop(): void {
    this.#cancelTimer();
    this.#onPassed = () => {};
    this.#pauses = Number.POSITIVE_INFINITY;
  }

  #wait(): void {
    const { idleMs, totalMs } = this.#limits;
    const nowMs = this.#clock.monotonicMs();
    const idleLeftMs = this.#signMs + idleMs - nowMs;
    const totalLeftMs = this.#startedMs + totalMs - nowMs;
    if (totalLeftMs <= 0) {
      return this.#pass(`the model did not end its response within ${totalMs / 1000} s: inference.timeout_secs.total`);
    }
    if (idleLeftMs <= 0) {
      return this.#pass(`the model was silent for ${idleMs / 1000} s: inference.timeout_secs.idle`);
    }
    this.#cancelTimer = this.#clock.after(Math.ceil(Math.min(idleLeftMs, totalLeftMs)), () => this.#wait());
  }

  #pass(limit: string): void {
    this.passed = limit;
    this.#onPassed();
  }
}
