import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import type { Plan, PlanStep } from './plan.ts';
import { type EndedPlan, type EndedStep, type PlanWork, runPlan } from './plan-run.ts';
import { nothingRan, type StepOutcome } from './step-outcome.ts';

const passes: StepOutcome = { ...nothingRan('ok'), status: 'passed', reached: true };
const fails: StepOutcome = { ...passes, status: 'failed', retryable: true };

function step(id: string, over: Partial<PlanStep> = {}): PlanStep {
  const work = { kind: 'tool', name: 'editor', input: {} } as const;
  return { id, work, dependsOn: [], condition: null, onError: 'fail', retries: 0, ...over };
}

function plan(...steps: readonly PlanStep[]): Plan {
  return { id: 'p', steps };
}

/** Attempts that end when the test says so, and a record of what happened. */
class HeldWork implements PlanWork {
  readonly log: string[] = [];
  readonly cancel = new AbortController();
  readonly #held = new Map<string, { end: (outcome: StepOutcome) => void; break: (error: unknown) => void }>();
  /** Of `onEnded`. */
  goesOn = true;

  constructor() {
    this.signal.addEventListener('abort', () => {
      for (const { break: reject } of this.#held.values()) reject(this.signal.reason);
    });
  }

  get signal(): AbortSignal {
    return this.cancel.signal;
  }

  readonly clock = { monotonicMs: (): number => 0 };

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
async function settled(): Promise<void> {
  await new Promise<void>((resolve) => setImmediate(resolve));
}

/** A run whose steps end at once; those of `failing` fail. */
async function ends(whole: Plan, ...failing: readonly string[]): Promise<{ end: EndedPlan; lines: string[] }> {
  const end = await runPlan(whole, {
    attempt: async ({ id }) => (failing.includes(id) ? fails : passes),
    onEnded: () => true,
    signal: new AbortController().signal,
    clock: { monotonicMs: () => 0 },
  });
  const lines = end.steps.map(({ id, status, reason }) => `${id} ${status}${reason === null ? '' : `: ${reason}`}`);
  return { end, lines };
}

describe('the steps of a plan', () => {
  it('start together when they wait for nothing, and after all they wait for otherwise', async () => {
    const work = new HeldWork();
    const run = runPlan(plan(step('c', { dependsOn: ['a', 'b'] }), step('a'), step('b')), work);
    expect(work.running).toEqual(['a', 'b']);
    await work.end('b');
    expect(work.running).toEqual(['a']);
    await work.end('a');
    expect(work.running).toEqual(['c']);
    await work.end('c');
    expect((await run).outcome).toBe('passed');
    expect(work.log).toEqual(['start a', 'start b', 'passed b', 'passed a', 'start c', 'passed c']);
  });

  it('run four at once; another starts as one ends', async () => {
    const work = new HeldWork();
    const run = runPlan(plan(...['a', 'b', 'c', 'd', 'e', 'f'].map((id) => step(id))), work);
    expect(work.running).toEqual(['a', 'b', 'c', 'd']);
    await work.end('c');
    expect(work.running).toEqual(['a', 'b', 'd', 'e']);
    for (const id of ['a', 'b', 'd', 'e', 'f']) await work.end(id);
    expect((await run).outcome).toBe('passed');
  });

  it('wait for the step of their condition, and run only when it ended so', async () => {
    const a = step('a', { onError: 'skip' });
    const steps = (['passed', 'failed', 'skipped'] as const).map((is) => step(is, { condition: { step: 'a', is } }));
    expect((await ends(plan(a, ...steps))).lines).toEqual([
      'a passed',
      'passed passed',
      'failed skipped: it runs if step "a" is failed, which is passed',
      'skipped skipped: it runs if step "a" is skipped, which is passed',
    ]);
    expect((await ends(plan(a, ...steps), 'a')).lines).toEqual([
      'a failed',
      'passed skipped: it runs if step "a" is passed, which is failed',
      'failed passed',
      'skipped skipped: it runs if step "a" is skipped, which is failed',
    ]);
    const skipped = step('a', { condition: { step: 'z', is: 'skipped' } });
    expect((await ends(plan(step('z'), skipped, ...steps))).lines.slice(2)).toEqual([
      'passed skipped: it runs if step "a" is passed, which is skipped',
      'failed skipped: it runs if step "a" is failed, which is skipped',
      'skipped passed',
    ]);
  });
});

describe('a step that fails', () => {
  it('ends the plan with on_error fail: what runs goes on to its end, nothing else starts', async () => {
    const work = new HeldWork();
    const run = runPlan(
      plan(step('a'), step('b', { retries: 3 }), step('c', { dependsOn: ['b'] }), step('d', { dependsOn: ['a'] })),
      work,
    );
    await work.end('a', fails);
    expect(work.running).toEqual(['b']);
    await work.end('b', fails);
    const end = await run;
    expect(end.outcome).toBe('failed');
    expect(work.log).toEqual(['start a', 'start b', 'failed a', 'skipped c', 'skipped d', 'failed b']);
    expect(end.steps[2]).toEqual({
      id: 'c',
      status: 'skipped',
      attempts: 0,
      reason: 'step "a" failed and ended the plan',
      outcome: null,
      durationMs: 0,
    });
  });

  it('skips what waits for it with on_error skip, and what waits for that', async () => {
    const chain = plan(
      step('a', { onError: 'skip' }),
      step('b', { dependsOn: ['a'] }),
      step('c', { dependsOn: ['b'] }),
      step('d'),
    );
    const { end, lines } = await ends(chain, 'a');
    expect(lines).toEqual([
      'a failed',
      'b skipped: step "a", which it waits for, is failed',
      'c skipped: step "b", which it waits for, is skipped',
      'd passed',
    ]);
    expect(end.outcome).toBe('passed');
  });

  it('lets what waits for it run with on_error continue, also when it was skipped', async () => {
    const chain = plan(
      step('a', { onError: 'skip' }),
      step('b', { dependsOn: ['a'], onError: 'continue' }),
      step('c', { dependsOn: ['b'] }),
      step('d', { onError: 'continue' }),
      step('e', { dependsOn: ['d'] }),
    );
    expect((await ends(chain, 'a', 'd')).lines).toEqual([
      'a failed',
      'b skipped: step "a", which it waits for, is failed',
      'c passed',
      'd failed',
      'e passed',
    ]);
  });

  it('is tried again as often as it says, until it passes', async () => {
    const work = new HeldWork();
    const run = runPlan(plan(step('a', { retries: 2 }), step('b', { retries: 2, onError: 'skip' })), work);
    for (const outcome of [fails, passes]) await work.end('a', outcome);
    for (const outcome of [fails, fails, fails]) await work.end('b', outcome);
    const { outcome, steps } = await run;
    expect(steps.map(({ status, attempts }) => [status, attempts])).toEqual([
      ['passed', 2],
      ['failed', 3],
    ]);
    expect(outcome).toBe('passed');
  });

  it('is not tried again when that cannot help', async () => {
    const work = new HeldWork();
    const run = runPlan(plan(step('a', { retries: 5 })), work);
    await work.end('a', { ...fails, retryable: false });
    expect((await run).steps[0]).toMatchObject({ status: 'failed', attempts: 1 });
  });
});

describe('a plan that is stopped', () => {
  it('by a cancel starts nothing more, and ends when nothing of it runs', async () => {
    const work = new HeldWork();
    const run = runPlan(plan(step('a'), step('b', { retries: 5 }), step('c', { dependsOn: ['a'] })), work);
    await work.end('a');
    work.cancel.abort(new Error('canceled'));
    const { outcome, steps } = await run;
    expect(outcome).toBe('canceled');
    expect(steps.map(({ id, status, attempts }) => `${id} ${status} ${attempts}`)).toEqual([
      'a passed 1',
      'b canceled 1',
      'c canceled 1',
    ]);
    expect(work.log).toEqual(['start a', 'start b', 'passed a', 'start c', 'canceled b', 'canceled c']);
  });

  it('by a cancel that came before it starts nothing at all', async () => {
    const work = new HeldWork();
    work.cancel.abort(new Error('canceled'));
    expect((await runPlan(plan(step('a')), work)).outcome).toBe('canceled');
    expect(work.log).toEqual(['canceled a']);
  });

  it('because a step could not be recorded starts nothing more', async () => {
    const work = new HeldWork();
    const run = runPlan(plan(step('a', { onError: 'skip' }), step('b', { dependsOn: ['a'] }), step('c')), work);
    work.goesOn = false;
    await work.end('a');
    await work.end('c');
    expect((await run).outcome).toBe('canceled');
    expect(work.log).toEqual(['start a', 'start c', 'passed a', 'canceled b', 'passed c']);
  });

  it('by a bug rejects with it, after what runs has ended', async () => {
    const work = new HeldWork();
    const end = runPlan(plan(step('a'), step('b'), step('c', { dependsOn: ['b'] })), work).catch((error: unknown) => [
      error,
      [...work.log],
    ]);
    await work.break('a', new RangeError('a bug'));
    await work.end('b');
    expect(await end).toEqual([
      new RangeError('a bug'),
      ['start a', 'start b', 'canceled a', 'canceled c', 'passed b'],
    ]);
  });
});

/** A plan whose steps wait for earlier ones only, in any order of its list. */
const anyPlan = fc
  .array(
    fc.record({
      waits: fc.array(fc.nat(20), { maxLength: 4 }),
      condition: fc.option(fc.record({ on: fc.nat(20), is: fc.constantFrom('passed', 'failed', 'skipped') }), {
        freq: 2,
      }),
      onError: fc.constantFrom('fail', 'skip', 'continue'),
      retries: fc.nat(2),
      failures: fc.nat(3),
      place: fc.nat(),
    }),
    { minLength: 1, maxLength: 12 },
  )
  .map((drawn) => {
    const made = drawn.map(({ waits, condition, onError, retries, failures, place }, index) => ({
      place,
      failures,
      step: step(`s${index}`, {
        dependsOn: index === 0 ? [] : waits.map((each) => `s${each % index}`),
        condition: index === 0 || condition === null ? null : { step: `s${condition.on % index}`, is: condition.is },
        onError,
        retries,
      }),
    }));
    const listed = [...made].sort((one, other) => one.place - other.place).map((each) => each.step);
    return {
      plan: plan(...listed),
      inOrder: made.map((each) => each.step),
      failures: new Map(made.map((each) => [each.step.id, each.failures])),
    };
  });

/** How each step of a plan ends that no failure ends: looked up one after the other, in an order in which they can run. */
function modelOf(inOrder: readonly PlanStep[], failures: ReadonlyMap<string, number>): Map<string, string> {
  const statuses = new Map<string, string>();
  const byId = new Map(inOrder.map((each) => [each.id, each]));
  for (const { id, dependsOn, condition, retries } of inOrder) {
    const holds = condition === null || statuses.get(condition.step) === condition.is;
    const free = dependsOn.every(
      (other) =>
        other === condition?.step || statuses.get(other) === 'passed' || byId.get(other)?.onError === 'continue',
    );
    const passed = (failures.get(id) ?? 0) <= retries;
    statuses.set(id, !holds || !free ? 'skipped' : passed ? 'passed' : 'failed');
  }
  return statuses;
}

/** Attempts that end in an order drawn by chance, each step failing as often as the map says before it passes. */
async function played(
  whole: Plan,
  failures: ReadonlyMap<string, number>,
  order: readonly number[],
): Promise<{ end: EndedPlan; log: readonly string[] }> {
  const work = new HeldWork();
  const attempts = new Map<string, number>();
  let end: EndedPlan | null = null;
  void runPlan(whole, work).then((result) => (end = result));
  await settled();
  for (let turn = 0; work.running.length > 0; turn += 1) {
    expect(work.running.length).toBeLessThanOrEqual(4);
    const id = work.running[(order[turn % order.length] ?? 0) % work.running.length] ?? '';
    const attempt = (attempts.get(id) ?? 0) + 1;
    attempts.set(id, attempt);
    await work.end(id, attempt > (failures.get(id) ?? 0) ? passes : fails);
  }
  if (end === null) throw new Error('nothing runs and the plan has not ended');
  return { end, log: work.log };
}

const anyOrder = fc.array(fc.nat(11), { minLength: 1, maxLength: 20 });

describe('any plan', () => {
  it('ends with every step in one state, starts none before what it waits for, and none after its end', async () => {
    await fc.assert(
      fc.asyncProperty(anyPlan, anyOrder, async ({ plan: whole, failures }, order) => {
        const { end, log } = await played(whole, failures, order);
        expect(end.steps.map(({ id }) => id)).toEqual(whole.steps.map(({ id }) => id));
        const ended = log.filter((line) => !line.startsWith('start '));
        expect(new Set(ended.map((line) => line.split(' ')[1])).size).toBe(whole.steps.length);
        expect(ended.length).toBe(whole.steps.length);
        for (const { id, dependsOn, condition } of whole.steps) {
          const start = log.indexOf(`start ${id}`);
          if (start === -1) continue;
          for (const other of condition === null ? dependsOn : [...dependsOn, condition.step]) {
            const otherEnd = log.findIndex((line) => !line.startsWith('start ') && line.endsWith(` ${other}`));
            expect(otherEnd).toBeGreaterThanOrEqual(0);
            expect(otherEnd).toBeLessThan(start);
          }
        }
        const enders = whole.steps.filter(({ id, onError }) => onError === 'fail' && log.includes(`failed ${id}`));
        expect(end.outcome).toBe(enders.length > 0 ? 'failed' : 'passed');
        const firstEnd = Math.min(...enders.map(({ id }) => log.indexOf(`failed ${id}`)), log.length);
        expect(log.slice(firstEnd).filter((line) => line.startsWith('start '))).toEqual([]);
      }),
    );
  });

  it('that no failure ends, ends as one step after the other would', async () => {
    await fc.assert(
      fc.asyncProperty(anyPlan, anyOrder, async ({ plan: whole, inOrder, failures }, order) => {
        const lenient = (each: PlanStep): PlanStep => (each.onError === 'fail' ? { ...each, onError: 'skip' } : each);
        const { end } = await played(plan(...whole.steps.map(lenient)), failures, order);
        const statuses = new Map(end.steps.map(({ id, status }) => [id, status]));
        expect(statuses).toEqual(
          new Map(whole.steps.map(({ id }) => [id, modelOf(inOrder.map(lenient), failures).get(id)])),
        );
        for (const { id, attempts, status } of end.steps) {
          const { retries } = whole.steps.find((each) => each.id === id) ?? step(id);
          expect(attempts).toBe(status === 'skipped' ? 0 : Math.min(failures.get(id) ?? 0, retries) + 1);
        }
      }),
    );
  });
});
