/** Checks a plan before anything of it runs. */

import { isArtifactName, isExactVersion } from '@svc/artifacts/manifest/names.ts';
import { firstLines, quoted, shortened } from '@svc/kit/diagnostics/printable.ts';
import { isJsonObject } from '@svc/protocol/json-object.ts';
import type { ToolKind } from '../tool.ts';
import {
  type Plan,
  planLimits,
  type PlanStep,
  type SubmittedPlan,
  submittedPlan,
  waitsFor,
  type StepWork,
  type SubmittedStep,
  nestsDeeper,
  referencesIn,
} from './plan.ts';

const shownProblems = 10;
const maxProblem = 400;

export type PlanCheck =
  | { readonly kind: 'plan'; readonly plan: Plan }
  /** Sentences a model can act on, at least one. */
  | { readonly kind: 'refused'; readonly problems: readonly string[] };

/** The plan in the arguments of `submit-plan`, or everything that is wrong with it; nothing has run (docs/adr/sessions.md "What a plan is"). */
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
  // References need steps with different ids and an order.
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
        problems.push(`step ${quoted(id)} names ${quoted(other)} in ${key}, which is not a step of the plan`);
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
  const cut = [...new Set(problems)].map((problem) => shortened(problem, maxProblem));
  return { kind: 'refused', problems: firstLines(cut, shownProblems) };
}

/** Maps the id of a step to the ids that it waits for. */
type WaitGraph = ReadonlyMap<string, readonly string[]>;

const shownOfCycle = 8;

/** Returns steps that wait for each other in a circle, the first one once more at the end; null when no steps do. */
function findCycle(graph: WaitGraph): readonly string[] | null {
  const finished = new Set<string>();
  const path: string[] = [];

  function visit(id: string): readonly string[] | null {
    if (finished.has(id)) return null;
    const start = path.indexOf(id);
    if (start !== -1) return [...path.slice(start), id];
    path.push(id);
    for (const next of graph.get(id) ?? []) {
      const cycle = visit(next);
      if (cycle !== null) return cycle;
    }
    path.pop();
    finished.add(id);
    return null;
  }

  for (const id of graph.keys()) {
    const cycle = visit(id);
    if (cycle !== null) return cycle;
  }
  return null;
}

/** A cycle as a path, the middle of a long one left out. */
function renderCycle(cycle: readonly string[]): string {
  const names = cycle.map((id) => quoted(id));
  const left = names.length - shownOfCycle;
  const shown = left <= 0 ? names : [...names.slice(0, shownOfCycle - 1), `(${left} more)`, ...names.slice(-1)];
  return shown.join(' → ');
}

/** Every step that has ended when `id` starts. */
function allBefore(id: string, graph: WaitGraph): ReadonlySet<string> {
  // A set is walked in the order of insertion, so the loop visits what it adds here too.
  const before = new Set(graph.get(id));
  for (const each of before) for (const next of graph.get(each) ?? []) before.add(next);
  return before;
}

type KindOf = (name: string) => ToolKind | undefined;

type CheckedWork =
  | { readonly kind: 'work'; readonly work: StepWork }
  | { readonly kind: 'refused'; readonly reason: string };

/** The names that no step may use, and why. */
const closedToSteps: ReadonlyMap<string, string> = new Map([
  ['submit-plan', 'a plan does not submit plans'],
  ['delegate-task', 'a step gives a task to a capsule with capsule and version'],
]);

/** The work of a step, with every name looked up; other code checks the references in its input. */
function checkWork(step: SubmittedStep, kindOf: KindOf): CheckedWork {
  const { tool, shell, capsule, version } = step;
  const named = Object.entries({ tool, shell, capsule }).filter(([, value]) => value !== undefined);
  if (named.length !== 1) {
    const names = named.length === 0 ? 'none' : named.map(([key]) => key).join(' and ');
    return unusable(`names ${names} of tool, shell and capsule; exactly one is needed`);
  }
  if (capsule === undefined && version !== undefined) return unusable('has a version, which only a capsule has');
  if (tool !== undefined) return toolWork(tool, step.input, kindOf);
  if (shell !== undefined) return shellWork(shell, step.input, kindOf);
  return capsuleWork(capsule ?? '', version, step.input);
}

function toolWork(name: string, input: unknown, kindOf: KindOf): CheckedWork {
  const closed = closedToSteps.get(name);
  if (closed !== undefined) return unusable(`cannot call ${name}: ${closed}`);
  const kind = kindOf(name);
  if (kind === undefined) return unusable(`names the tool ${quoted(name)}, which does not exist`);
  if (kind === 'shell') return unusable(`names ${name} as tool; it is a command, so name it as shell`);
  if (kind === 'skill') return unusable(`names the skill ${name}, which is for you to read: call it yourself`);
  if (input === undefined) return { kind: 'work', work: { kind: 'tool', name, input: {} } };
  if (!isJsonObject(input))
    return unusable('has an input that is not an object; a tool takes the object of its arguments');
  return { kind: 'work', work: { kind: 'tool', name, input } };
}

function shellWork(name: string, input: unknown, kindOf: KindOf): CheckedWork {
  const kind = kindOf(name);
  if (kind !== undefined && kind !== 'shell')
    return unusable(`names ${name} as shell; it is not a command, so name it as tool`);
  if (kind === undefined) return unusable(`names the command ${quoted(name)}, which does not exist`);
  const command = commandOf(input);
  if (command === null) return unusable('has an input that is not a command; give it as text or as {"command": text}');
  return { kind: 'work', work: { kind: 'shell', name, command } };
}

function capsuleWork(name: string, version: string | undefined, input: unknown): CheckedWork {
  if (!isArtifactName(name)) return unusable(`names the capsule ${quoted(name)}, which is not a capsule name`);
  if (version === undefined) return unusable('names a capsule without its version');
  if (!isExactVersion(version)) return unusable(`has the version ${quoted(version)}, which is not an exact one`);
  if (typeof input !== 'string' || input === '')
    return unusable('has an input that is not a task; a capsule takes a text');
  return { kind: 'work', work: { kind: 'capsule', name, version, task: input } };
}

function commandOf(input: unknown): string | null {
  if (typeof input === 'string') return input;
  if (!isJsonObject(input) || Object.keys(input).length !== 1) return null;
  const { command } = input;
  return typeof command === 'string' ? command : null;
}

function unusable(reason: string): CheckedWork {
  return { kind: 'refused', reason };
}
