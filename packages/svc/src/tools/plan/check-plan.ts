import { quoted } from '@svc/kit/diagnostics/printable.ts';
import { type Plan, planLimits, type PlanStep, type SubmittedPlan, submittedPlan, waitsFor } from './plan.ts';
import { allBefore, findCycle, renderCycle, type WaitGraph } from './step-order.ts';
import { nestsDeeper, referencesIn } from './step-references.ts';
import { checkWork, type KindOf } from './step-work.ts';

const shownProblems = 10;
const longestProblem = 400;

export type PlanCheck =
  | { readonly kind: 'plan'; readonly plan: Plan }
  /** Sentences a model can act on, at least one. */
  | { readonly kind: 'refused'; readonly problems: readonly string[] };

/** The plan in the arguments of `submit-plan`, or everything that is wrong with it; nothing has run (contracts §10). */
export function checkPlan(args: unknown, kindOf: KindOf): PlanCheck {
  const parsed = submittedPlan.safeParse(args);
  if (!parsed.success) {
    return refused(
      parsed.error.issues.map(({ path }) => `${['plan', ...path].join('.')} does not fit the input schema`),
    );
  }
  const { id, steps: submitted } = parsed.data;
  const unreadable = sizeProblems(parsed.data);
  if (unreadable.length > 0) return refused(unreadable);
  const problems = duplicateIds(submitted);
  const steps: PlanStep[] = [];
  for (const step of submitted) {
    const checked = checkWork(step, kindOf);
    if (checked.kind === 'refused') problems.push(`step ${quoted(step.id)} ${checked.reason}`);
    else {
      const { depends_on: dependsOn, if: condition = null, on_error: onError, retries } = step;
      steps.push({ id: step.id, work: checked.work, dependsOn, condition, onError, retries });
    }
  }
  problems.push(...orderProblems(submitted));
  // References are about steps that can be told apart and come in an order.
  if (problems.length === 0) problems.push(...referenceProblems(steps));
  return problems.length === 0 ? { kind: 'plan', plan: { id, steps } } : refused(problems);
}

function sizeProblems(plan: SubmittedPlan): string[] {
  const deep = plan.steps.filter(({ input }) => nestsDeeper(input, planLimits.inputDepth));
  if (deep.length > 0) {
    return deep.map(({ id }) => `step ${quoted(id)} has an input of more than ${planLimits.inputDepth} levels`);
  }
  const { length } = JSON.stringify(plan);
  return length > planLimits.planLength ? [`the plan is longer than ${planLimits.planLength} characters`] : [];
}

function duplicateIds(steps: SubmittedPlan['steps']): string[] {
  const first = new Map<string, number>();
  const problems: string[] = [];
  for (const [index, { id }] of steps.entries()) {
    const other = first.get(id);
    if (other === undefined) first.set(id, index);
    else problems.push(`steps[${other}] and steps[${index}] share the id ${quoted(id)}`);
  }
  return problems;
}

function orderProblems(steps: SubmittedPlan['steps']): string[] {
  const problems: string[] = [];
  const byId = new Map(steps.map((step) => [step.id, step]));
  for (const { id, depends_on: dependsOn, if: condition } of steps) {
    const named: [key: string, id: string][] = dependsOn.map((each) => ['depends_on', each]);
    if (condition !== undefined) named.push(['if', condition.step]);
    for (const [key, other] of named) {
      if (other === id) problems.push(`step ${quoted(id)} waits for itself`);
      else if (!byId.has(other))
        problems.push(`step ${quoted(id)} names ${quoted(other)} in ${key}, which is no step of the plan`);
    }
    const awaited = condition?.is === 'failed' ? byId.get(condition.step) : undefined;
    if (awaited?.on_error === 'fail') {
      const hint = 'whose failure ends the plan: give that one on_error skip or continue';
      problems.push(`step ${quoted(id)} waits for the failure of ${quoted(awaited.id)}, ${hint}`);
    }
  }
  if (problems.length > 0) return problems;
  const cycle = findCycle(
    graphOf(steps.map((step) => ({ id: step.id, dependsOn: step.depends_on, condition: step.if ?? null }))),
  );
  return cycle === null ? [] : [`the steps wait for each other: ${renderCycle(cycle)}`];
}

function referenceProblems(steps: readonly PlanStep[]): string[] {
  const graph = graphOf(steps);
  return steps.flatMap(({ id, work }) => {
    const { steps: named, malformed } = referencesIn(inputOf(work));
    if (work.kind === 'shell' && (named.size > 0 || malformed !== null)) {
      const way = 'let a tool write it into a file and have the command read that';
      return [`step ${quoted(id)} puts an output into a command, where it could run as one: ${way}`];
    }
    if (malformed !== null) {
      return [`step ${quoted(id)} holds ${quoted(malformed)}, which is not of the form {{steps.<id>.output}}`];
    }
    const before = named.size === 0 ? named : allBefore(id, graph);
    return [...named]
      .filter((other) => !before.has(other))
      .map(
        (other) =>
          `step ${quoted(id)} uses the output of ${quoted(other)} without waiting for it: add it to depends_on`,
      );
  });
}

function inputOf(work: PlanStep['work']): unknown {
  switch (work.kind) {
    case 'tool':
      return work.input;
    case 'shell':
      return work.command;
    case 'capsule':
      return work.task;
  }
}

function graphOf(steps: readonly Pick<PlanStep, 'id' | 'dependsOn' | 'condition'>[]): WaitGraph {
  return new Map(steps.map((step) => [step.id, waitsFor(step)]));
}

function refused(problems: readonly string[]): PlanCheck {
  const cut = [...new Set(problems)].map((problem) =>
    problem.length > longestProblem ? `${problem.slice(0, longestProblem)}…` : problem,
  );
  const rest = cut.length - shownProblems;
  return { kind: 'refused', problems: rest <= 0 ? cut : [...cut.slice(0, shownProblems), `and ${rest} more`] };
}
