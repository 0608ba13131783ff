import { describe, expect, it } from 'vitest';

import { fails, HeldWork, passes, plan, step } from '../../../../../test/support/held-plan.ts';
import type { Plan } from './plan.ts';
import { type EndedPlan, runPlan } from './plan-run.ts';

/** A run whose steps end at once; those of `failing` fail. */
async function ends(whole: Plan, ...failing: readonly string[]): Promise<{ end: EndedPlan; lines: string[] }> {
  const end = await runPlan(whole, {
    attempt: async ({ id }) => (failing.includes(id) ? fails : passes),
    onEnded: () => true,
    signal: new AbortController().signal,
    clock: { monotonicMs: () => 0, now: () => 1000 },
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
      startMs: 0,
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

  it('repeats as often as it says, until it passes', async () => {
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

  it('repeats only when that can help', async () => {
    const work = new HeldWork();
    const run = runPlan(plan(step('a', { retries: 5 })), work);
    await work.end('a', { ...fails, retryable: false });
    expect((await run).steps[0]).toMatchObject({ status: 'failed', attempts: 1 });
  });
});

describe('a plan that is stopped', () => {
  it('starts nothing more after a cancel, and ends when nothing of it runs', async () => {
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

  it('ignores after a cancel what still comes of a step', async () => {
    const cancel = new AbortController();
    const end = await runPlan(plan(step('a')), {
      attempt: async () => {
        cancel.abort(new Error('canceled'));
        return passes;
      },
      onEnded: () => true,
      signal: cancel.signal,
      clock: { monotonicMs: () => 0, now: () => 1000 },
    });
    expect(end.steps).toEqual([
      { id: 'a', status: 'canceled', attempts: 1, reason: null, outcome: null, startMs: 1000, durationMs: 0 },
    ]);
  });

  it('starts nothing at all after an early cancel', async () => {
    const work = new HeldWork();
    work.cancel.abort(new Error('canceled'));
    expect((await runPlan(plan(step('a')), work)).outcome).toBe('canceled');
    expect(work.log).toEqual(['canceled a']);
  });

  it('starts nothing more when a step could not be recorded', async () => {
    const work = new HeldWork();
    const run = runPlan(plan(step('a', { onError: 'skip' }), step('b', { dependsOn: ['a'] }), step('c')), work);
    work.goesOn = false;
    await work.end('a');
    await work.end('c');
    expect((await run).outcome).toBe('canceled');
    expect(work.log).toEqual(['start a', 'start c', 'passed a', 'canceled b', 'passed c']);
  });

  it('rejects with a bug after what runs has ended', async () => {
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
