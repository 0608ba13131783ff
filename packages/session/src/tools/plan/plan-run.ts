/** Runs the steps of a plan in the order of what waits for what. */

import { type Clock, elapsedMs } from '@svc/kit/clock.ts';
import { quoted } from '@svc/kit/diagnostics/printable.ts';
import { type Plan, planLimits, type PlanStep, waitsFor } from './plan.ts';
import type { StepOutcome } from './capsule-step.ts';

export interface EndedStep {
  readonly id: string;
  /** `canceled`: cut off by the cancel of the task, or not started because of it. */
  readonly status: 'passed' | 'failed' | 'skipped' | 'canceled';
  readonly attempts: number;
  /** Why it was skipped; null otherwise. */
  readonly reason: string | null;
  /** How the last attempt ended; null when there was no attempt or it was cut off. */
  readonly outcome: StepOutcome | null;
  /** When its first attempt began, or it was skipped, in Unix milliseconds. */
  readonly startMs: number;
  /** Whole milliseconds, over all attempts. */
  readonly durationMs: number;
}

export interface PlanWork {
  /** One attempt at a step whose dependencies are in `ended`. Rejects with the signal's reason on cancel, or for a bug. */
  readonly attempt: (step: PlanStep, ended: ReadonlyMap<string, EndedStep>) => Promise<StepOutcome>;
  /** Called once for each step, as it ends. False when the plan is to start nothing more, as if it were canceled. */
  readonly onEnded: (step: PlanStep, how: EndedStep, ended: ReadonlyMap<string, EndedStep>) => boolean;
  readonly signal: AbortSignal;
  readonly clock: Pick<Clock, 'monotonicMs' | 'now'>;
}

export interface EndedPlan {
  /** `failed`: a step failed whose failure ends the plan. */
  readonly outcome: 'passed' | 'failed' | 'canceled';
  /** In the order of the plan. */
  readonly steps: readonly EndedStep[];
}

/**
 * Runs the steps of a plan, several at once, each after everything it waits for. A canceled plan starts nothing more and is returned
 * when the last running step has settled. Rejects for a bug, when nothing runs any more.
 */
export async function runPlan(plan: Plan, work: PlanWork): Promise<EndedPlan> {
  return await new PlanRun(plan, work).toTheEnd();
}

type Fate =
  | { readonly kind: 'waits' }
  | { readonly kind: 'runs' }
  | { readonly kind: 'skipped'; readonly reason: string };

class PlanRun {
  readonly #plan: Plan;
  readonly #work: PlanWork;
  readonly #waiting: Set<PlanStep>;
  readonly #running = new Set<Promise<void>>();
  readonly #ended = new Map<string, EndedStep>();
  readonly #onError: ReadonlyMap<string, PlanStep['onError']>;
  /** The step whose failure ended the plan. */
  #endedBy: string | null = null;
  #halted = false;
  #bug: { readonly error: unknown } | null = null;

  constructor(plan: Plan, work: PlanWork) {
    this.#plan = plan;
    this.#work = work;
    this.#waiting = new Set(plan.steps);
    this.#onError = new Map(plan.steps.map(({ id, onError }) => [id, onError]));
  }

  async toTheEnd(): Promise<EndedPlan> {
    this.#advance();
    while (this.#running.size > 0) {
      await Promise.race(this.#running);
      this.#advance();
    }
    if (this.#bug !== null) throw this.#bug.error;
    const steps = this.#plan.steps.flatMap(({ id }) => this.#ended.get(id) ?? []);
    return { outcome: this.#outcome(), steps };
  }

  get #canceled(): boolean {
    return this.#halted || this.#work.signal.aborted;
  }

  #outcome(): EndedPlan['outcome'] {
    if (this.#canceled) return 'canceled';
    return this.#endedBy === null ? 'passed' : 'failed';
  }

  /** Starts and skips whatever can be, until every step that is left waits for a running one or for room. */
  #advance(): void {
    for (let before = -1; before !== this.#waiting.size;) {
      before = this.#waiting.size;
      for (const step of this.#waiting) this.#advanceStep(step);
    }
  }

  #advanceStep(step: PlanStep): void {
    if (this.#canceled || this.#bug !== null) return this.#endUntried(step, 'canceled', null);
    const fate = this.#fateOf(step);
    if (fate.kind === 'skipped') return this.#endUntried(step, 'skipped', fate.reason);
    if (fate.kind === 'waits' || this.#running.size >= planLimits.atOnce) return;
    this.#waiting.delete(step);
    const running = this.#run(step).finally(() => this.#running.delete(running));
    this.#running.add(running);
  }

  #fateOf(step: PlanStep): Fate {
    if (this.#endedBy !== null) return skipped(`step ${quoted(this.#endedBy)} failed and ended the plan`);
    const { condition } = step;
    for (const id of waitsFor(step)) if (!this.#ended.has(id)) return { kind: 'waits' };
    for (const id of waitsFor(step)) {
      const status = this.#ended.get(id)?.status ?? 'canceled';
      if (id === condition?.step) {
        if (status !== condition.is)
          return skipped(`it runs if step ${quoted(id)} is ${condition.is}, which is ${status}`);
      } else if (status !== 'passed' && this.#onError.get(id) !== 'continue') {
        return skipped(`step ${quoted(id)}, which it waits for, is ${status}`);
      }
    }
    return { kind: 'runs' };
  }

  async #run(step: PlanStep): Promise<void> {
    const startMs = this.#work.clock.now();
    const startedMs = this.#work.clock.monotonicMs();
    const end = (status: EndedStep['status'], attempts: number, outcome: StepOutcome | null): void => {
      const durationMs = elapsedMs(this.#work.clock, startedMs);
      this.#end(step, { status, attempts, reason: null, outcome, startMs, durationMs });
    };
    for (let attempts = 1; ; attempts += 1) {
      try {
        const outcome = await this.#work.attempt(step, this.#ended);
        if (this.#work.signal.aborted) return end('canceled', attempts, null);
        const again = outcome.status === 'failed' && outcome.retryable && attempts <= step.retries;
        if (!again || this.#endedBy !== null || this.#canceled || this.#bug !== null)
          return end(outcome.status, attempts, outcome);
      } catch (error) {
        // The reason of the cancel says nothing that the outcome of the plan does not.
        if (!this.#work.signal.aborted) this.#bug ??= { error };
        return end('canceled', attempts, null);
      }
    }
  }

  #endUntried(step: PlanStep, status: 'canceled' | 'skipped', reason: string | null): void {
    const startMs = this.#work.clock.now();
    this.#end(step, { status, reason, attempts: 0, outcome: null, startMs, durationMs: 0 });
  }

  #end(step: PlanStep, how: Omit<EndedStep, 'id'>): void {
    this.#waiting.delete(step);
    const ended = { id: step.id, ...how };
    this.#ended.set(step.id, ended);
    if (ended.status === 'failed' && step.onError === 'fail') this.#endedBy ??= step.id;
    if (!this.#work.onEnded(step, ended, this.#ended)) this.#halted = true;
  }
}

function skipped(reason: string): Fate {
  return { kind: 'skipped', reason };
}
