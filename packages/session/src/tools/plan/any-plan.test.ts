import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { fails, HeldWork, passes, plan, settled, step } from '../../../../../test/support/held-plan.ts';
import type { Plan, PlanStep } from './plan.ts';
import { type EndedPlan, runPlan } from './plan-run.ts';

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

  it('comes to the same as one step after the other when no failure ends it', async () => {
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
