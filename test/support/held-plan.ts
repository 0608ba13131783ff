/** Makes plans, and steps that end when a test lets them. */

import type { Plan, PlanStep } from '@svc/session/tools/plan/plan.ts';
import type { EndedStep, PlanWork } from '@svc/session/tools/plan/plan-run.ts';
import { nothingRan, type StepOutcome } from '@svc/session/tools/plan/capsule-step.ts';

export const passes: StepOutcome = { ...nothingRan('ok'), status: 'passed', reached: true };
export const fails: StepOutcome = { ...passes, status: 'failed', retryable: true };

export function step(id: string, over: Partial<PlanStep> = {}): PlanStep {
  const work = { kind: 'tool', name: 'editor', input: {} } as const;
  return { id, work, dependsOn: [], condition: null, onError: 'fail', retries: 0, ...over };
}

export function plan(...steps: readonly PlanStep[]): Plan {
  return { id: 'p', steps };
}

/** Attempts that end when the test says so, and a record of what happened. */
export class HeldWork implements PlanWork {
  readonly log: string[] = [];
  readonly cancel = new AbortController();
  readonly #held = new Map<string, { end: (outcome: StepOutcome) => void; break: (error: unknown) => void }>();
  /** What `onEnded` answers. */
  goesOn = true;

  constructor() {
    this.signal.addEventListener('abort', () => {
      for (const { break: reject } of this.#held.values()) reject(this.signal.reason);
    });
  }

  get signal(): AbortSignal {
    return this.cancel.signal;
  }

  readonly clock = { monotonicMs: (): number => 0, now: (): number => 0 };

  readonly attempt = ({ id }: PlanStep): Promise<StepOutcome> => {
    this.log.push(`start ${id}`);
    return new Promise((end, reject) => {
      this.#held.set(id, { end, break: reject });
    });
  };

  readonly onEnded = (_step: PlanStep, { id, status }: EndedStep): boolean => {
    this.log.push(`${status} ${id}`);
    return this.goesOn;
  };

  get running(): readonly string[] {
    return [...this.#held.keys()];
  }

  /** Ends the attempt at a step; what comes of it has happened then. */
  async end(id: string, outcome = passes): Promise<void> {
    this.#take(id).end(outcome);
    await settled();
  }

  async break(id: string, error: unknown): Promise<void> {
    this.#take(id).break(error);
    await settled();
  }

  #take(id: string): { end: (outcome: StepOutcome) => void; break: (error: unknown) => void } {
    const held = this.#held.get(id);
    if (held === undefined) throw new Error(`${id} does not run`);
    this.#held.delete(id);
    return held;
  }
}

/** Everything that only waits for promises that are settled has run. */
export async function settled(): Promise<void> {
  await new Promise<void>((resolve) => setImmediate(resolve));
}
