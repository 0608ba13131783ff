/** The tool `submit-plan`, by which a model runs many calls as one. */

import { type Clock, elapsedMs } from '@svc/kit/clock.ts';
import { type Digits, digitsBelow } from '@svc/kit/exact-json.ts';
import { type Tool, type ToolCallContext, type ToolOutcome, neverReached, type DispatchedCall } from '../tool.ts';
import { type RunCapsuleStep, nothingRan, type StepOutcome } from './capsule-step.ts';
import { checkPlan } from './check-plan.ts';
import {
  type Plan,
  planLimits,
  type PlanStep,
  submittedPlan,
  planSchema,
  type StepWork,
  fillReferences,
  referencesIn,
} from './plan.ts';
import {
  reasonOf,
  recordPlan,
  reportPlan,
  type SavedPlan,
  type PlanFileSettings,
  savedPlan,
  savePlan,
  cutText,
} from './plan-report.ts';
import { type EndedPlan, type EndedStep, runPlan } from './plan-run.ts';
import { fenceUntrusted } from '../untrusted-fence.ts';

interface SubmitPlanSettings extends PlanFileSettings {
  readonly runCapsuleStep: RunCapsuleStep;
  readonly clock: Pick<Clock, 'monotonicMs' | 'now'>;
}

/**
 * `submit-plan` (docs/adr/sessions.md "What a plan is"): runs many calls as one, in the order of what waits for what. A plan that cannot be run is refused with
 * everything that is wrong with it, and nothing of it has run then. How a plan ended is recorded in the trace and saved beside it.
 */
export function createSubmitPlanTool(settings: SubmitPlanSettings): Tool {
  let plans = 0;
  return {
    name: 'submit-plan',
    description,
    kind: 'runtime',
    isOwn: true,
    inputSchema: planSchema,
    call: async (args, context) => {
      const checked = checkPlan(args, (name) => context.tools.kindOf(name));
      if (checked.kind === 'refused') {
        return neverReached(['the plan is not run, nothing of it has started:', ...checked.problems].join('\n'));
      }
      plans += 1;
      return await carryOut({ number: plans, plan: checked.plan, args }, context, settings);
    },
  };
}

interface AcceptedPlan {
  readonly number: number;
  readonly plan: Plan;
  /** The arguments that the model submitted. */
  readonly args: unknown;
}

async function carryOut(
  { number, plan, args }: AcceptedPlan,
  context: ToolCallContext,
  settings: SubmitPlanSettings,
): Promise<ToolOutcome> {
  const { clock, runCapsuleStep, redact } = settings;
  const ids = { task_id: context.taskId, plan_id: plan.id };
  const startedMs = clock.monotonicMs();
  const digitsOf = (step: PlanStep): Digits | undefined =>
    digitsBelow(context.digits ?? {}, `/steps/${plan.steps.indexOf(step)}/input`);
  if (!context.record({ event_type: 'plan_start', ...ids, steps: plan.steps.length })) {
    return neverReached('the plan is not run: the trace cannot be written');
  }
  const end = await runPlan(plan, {
    attempt: (step, before) => attemptStep(step, before, { context, digits: digitsOf(step), runCapsuleStep, redact }),
    onEnded: (step, how, ended) => recordStep(step, how, { ended, ids, context, digits: digitsOf(step) }),
    signal: context.signal,
    clock,
  });
  const text = recordPlan(context.taskId, submittedPlan.parse(args), end, redact);
  const saved =
    (await context.settle(() => savePlan({ number, planId: plan.id, text }, settings))) ?? savedPlan(number, plan.id);
  recordEnd(end, saved, { ids, context, durationMs: elapsedMs(clock, startedMs) });
  context.signal.throwIfAborted();
  const { text: content, truncated } = reportPlan(plan.id, end, saved, redact);
  return { status: end.outcome === 'passed' ? 'passed' : 'failed', content, exitCode: null, truncated };
}

interface Recording {
  readonly ids: { readonly task_id: string; readonly plan_id: string };
  readonly context: Pick<ToolCallContext, 'record'>;
}

/** Writes one line for each step that came to an end of its own. Calls that a cancel cut off have none either. */
function recordStep(
  { work }: PlanStep,
  step: EndedStep,
  { ended, ids, context, digits }: Recording & Pick<AttemptDeps, 'digits'> & { readonly ended: Ended },
): boolean {
  if (step.status === 'canceled') return true;
  const reason = reasonOf(step);
  return context.record({
    event_type: 'plan_step',
    ...ids,
    step_id: step.id,
    outcome: step.status,
    kind: work.kind,
    name: work.name,
    arguments: step.attempts === 0 ? null : calledWith(work, ended),
    ...(digits === undefined ? {} : { digits }),
    attempts: step.attempts,
    exit_code: step.outcome?.exitCode ?? null,
    ...(reason === null ? {} : { reason }),
    start_ms: step.startMs,
    duration_ms: step.durationMs,
  });
}

function recordEnd(
  { outcome, steps }: EndedPlan,
  saved: SavedPlan,
  { ids, context, durationMs }: Recording & { readonly durationMs: number },
): void {
  const count = (status: EndedStep['status']): number => steps.filter((step) => step.status === status).length;
  context.record({
    event_type: 'plan_end',
    ...ids,
    outcome,
    passed: count('passed'),
    failed: count('failed'),
    skipped: count('skipped'),
    canceled: count('canceled'),
    file: saved.kind === 'saved' ? saved.name : null,
    ...(saved.kind === 'saved' ? {} : { error: saved.problem }),
    duration_ms: durationMs,
  });
}

const description = [
  'Runs several calls as one plan, of which you get all results together.',
  `Steps that do not wait for each other run at the same time, ${planLimits.atOnce} at once; at most ${planLimits.steps} steps.`,
  'In the strings of the input of a tool or capsule step, {{steps.<id>.output}} stands for what an earlier step answered',
  '(a command: its standard output); the step must wait for that one. A command cannot hold one: have a tool write a file for it.',
  'A command passes when its exit code is 0. Everything is checked before anything runs.',
].join(' ');

type Ended = ReadonlyMap<string, EndedStep>;

interface AttemptDeps extends Pick<SubmitPlanSettings, 'runCapsuleStep' | 'redact'> {
  readonly context: ToolCallContext;
  /** The digits of the numbers in the input of the step. */
  readonly digits: Digits | undefined;
}

/**
 * One attempt at a step: its references are filled in, then it is carried out as if the model had made the call, so its arguments are
 * checked and hooks judge it. Rejects with the signal's reason on cancel, or for a bug.
 */
async function attemptStep({ id, work }: PlanStep, ended: Ended, deps: AttemptDeps): Promise<StepOutcome> {
  const filled = fillWork(work, ended);
  if (filled.kind === 'not-filled') return nothingRan(filled.reason);
  const { context, runCapsuleStep, redact } = deps;
  if (filled.work.kind === 'capsule') {
    const { name: capsule, version, task } = filled.work;
    context.signal.throwIfAborted();
    const place = `${context.place}/s${id}`;
    const refused = await refusalOf({ capsule, version, task }, { ...context, place });
    context.signal.throwIfAborted();
    if (refused !== null) return nothingRan(refused);
    return bounded(await runCapsuleStep({ id, capsule, version, task }, { ...context, place }), redact);
  }
  const { name } = filled.work;
  const input = filled.work.kind === 'shell' ? { command: filled.work.command } : filled.work.input;
  const call = { id: '', name, input, ...(deps.digits === undefined ? {} : { digits: deps.digits }) };
  return outcomeOf(await context.tools.dispatch(call, id), redact);
}

/** Why hooks refuse a capsule step, which they judge as the call that it stands for; null when they let it pass. */
async function refusalOf(
  args: Readonly<Record<string, unknown>>,
  { judge, onJudged, place }: Pick<ToolCallContext, 'judge' | 'onJudged' | 'place'>,
): Promise<string | null> {
  const call = { toolName: 'delegate-task', kind: 'runtime', callId: null, arguments: args, place } as const;
  const verdict = await judge(call);
  const reason = verdict.kind === 'deny' ? verdict.reason : null;
  const by = verdict.kind === 'deny' ? verdict.by : undefined;
  const refusal = reason === null || by === undefined ? null : { rule: reason, by };
  onJudged?.({ name: call.toolName, kind: call.kind, refusal });
  return reason;
}

/** The input of a step as it is called, for the trace; null where it could not be filled in. */
function calledWith(work: StepWork, ended: Ended): unknown {
  const filled = fillWork(work, ended);
  if (filled.kind === 'not-filled') return null;
  switch (filled.work.kind) {
    case 'tool':
      return filled.work.input;
    case 'shell':
      return { command: filled.work.command };
    case 'capsule':
      return { task: filled.work.task };
  }
}

type FilledWork =
  | { readonly kind: 'filled'; readonly work: StepWork }
  | { readonly kind: 'not-filled'; readonly reason: string };

function fillWork(work: StepWork, ended: Ended): FilledWork {
  if (work.kind === 'shell') return { kind: 'filled', work };
  const input = work.kind === 'tool' ? work.input : work.task;
  for (const id of referencesIn(input).steps) {
    const outcome = ended.get(id)?.outcome ?? null;
    if (outcome === null || !outcome.reached) return notFilled(`step ${id} has no output: nothing of it ran`);
    if (outcome.cut) return notFilled(`the output of step ${id} is not whole, so it is not handed on`);
  }
  // A model reads the task of a capsule: there, what a stranger wrote is to be known as such. A tool takes it as data.
  const outputOf = work.kind === 'capsule' ? fencedOutput(ended) : (id: string) => ended.get(id)?.outcome?.output ?? '';
  const tooLong = `the outputs in its input are longer than ${planLimits.handedOnLength} characters`;
  if (work.kind === 'tool') {
    const filled = fillReferences(work.input, outputOf);
    return filled.kind === 'filled' ? { kind: 'filled', work: { ...work, input: filled.input } } : notFilled(tooLong);
  }
  const filled = fillReferences(work.task, outputOf);
  return filled.kind === 'filled' ? { kind: 'filled', work: { ...work, task: filled.input } } : notFilled(tooLong);
}

function fencedOutput(ended: Ended): (id: string) => string {
  return (id) => {
    const outcome = ended.get(id)?.outcome ?? null;
    if (outcome === null) return '';
    return outcome.fenceSource === null ? outcome.output : fenceUntrusted(outcome.fenceSource, outcome.output);
  };
}

function outcomeOf(call: DispatchedCall, redact: SubmitPlanSettings['redact']): StepOutcome {
  const { kind, isError, exitCode, reached, fenceSource } = call;
  // As a call, a command has passed when it ran to its end; as a step, when it says so itself.
  const passed = !isError && (kind !== 'shell' || exitCode === 0);
  // It runs yet: what it has written is not whole, and another attempt would be a second one beside it.
  const inBackground = kind === 'shell' && !isError && exitCode === null;
  const outcome: StepOutcome = {
    status: passed ? 'passed' : 'failed',
    reached,
    content: call.unfenced,
    output: call.output,
    fenceSource,
    cut: call.truncated || inBackground,
    exitCode,
    retryable: reached && !passed && !inBackground,
  };
  return bounded(outcome, redact);
}

/** Keeps no more of a step than a plan of many steps can hold. */
function bounded(outcome: StepOutcome, redact: SubmitPlanSettings['redact']): StepOutcome {
  const content = cutText(outcome.content, planLimits.keptBytes, redact);
  const output = cutText(outcome.output, planLimits.keptBytes, redact);
  // What is handed on is as it was given.
  const isGiven = output.text === outcome.output;
  return { ...outcome, content: content.text, output: output.text, cut: outcome.cut || content.cut || !isGiven };
}

function notFilled(reason: string): FilledWork {
  return { kind: 'not-filled', reason };
}
