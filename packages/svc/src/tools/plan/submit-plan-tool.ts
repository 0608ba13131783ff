import { type Clock, elapsedMs } from '@svc/kit/clock.ts';
import { neverReached } from '../dispatch.ts';
import type { Tool, ToolCallContext, ToolOutcome } from '../tool.ts';
import type { RunCapsuleStep } from './capsule-step.ts';
import { checkPlan } from './check-plan.ts';
import { type Plan, planLimits, type PlanStep, submittedPlan, planSchema } from './plan.ts';
import { reasonOf, recordPlan, reportPlan, type SavedPlan, type PlanFileSettings, savePlan } from './plan-report.ts';
import { type EndedPlan, type EndedStep, runPlan } from './plan-run.ts';
import { attemptStep, calledWith } from './step-attempt.ts';

export interface SubmitPlanSettings extends PlanFileSettings {
  readonly runCapsuleStep: RunCapsuleStep;
  readonly clock: Pick<Clock, 'monotonicMs'>;
}

/**
 * `submit-plan` (ADR 0041): runs many calls as one, in the order of what waits for what. A plan that cannot be run is refused with
 * everything that is wrong with it, and nothing of it has run then. How a plan ended is recorded in the trace and saved beside it.
 */
export function createSubmitPlanTool(settings: SubmitPlanSettings): Tool {
  let plans = 0;
  return {
    name: 'submit-plan',
    description,
    kind: 'runtime',
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
  /** As submitted. */
  readonly args: unknown;
}

async function carryOut(
  { number, plan, args }: AcceptedPlan,
  context: ToolCallContext,
  settings: SubmitPlanSettings,
): Promise<ToolOutcome> {
  const { clock, runCapsuleStep } = settings;
  const ids = { task_id: context.taskId, plan_id: plan.id };
  const startedMs = clock.monotonicMs();
  if (!context.record({ event_type: 'plan_start', ...ids, steps: plan.steps.length })) {
    return neverReached('the plan is not run: the trace cannot be written');
  }
  const end = await runPlan(plan, {
    attempt: (step, before) => attemptStep(step, before, { context, runCapsuleStep }),
    onEnded: (step, how, ended) => recordStep(step, how, { ended, ids, context }),
    signal: context.signal,
    clock,
  });
  const text = recordPlan(context.taskId, submittedPlan.parse(args), end);
  const saved = await savePlan({ number, planId: plan.id, text }, settings);
  recordEnd(end, saved, { ids, context, durationMs: elapsedMs(clock, startedMs) });
  context.signal.throwIfAborted();
  const { text: content, truncated } = reportPlan(plan.id, end, saved);
  return { status: end.outcome === 'passed' ? 'passed' : 'failed', content, exitCode: null, truncated };
}

interface Recording {
  readonly ids: { readonly task_id: string; readonly plan_id: string };
  readonly context: Pick<ToolCallContext, 'record'>;
}

/** One line for each step that came to an end of its own: a call that a cancel cut off has none either. */
function recordStep(
  { work }: PlanStep,
  step: EndedStep,
  { ended, ids, context }: Recording & { readonly ended: ReadonlyMap<string, EndedStep> },
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
    attempts: step.attempts,
    exit_code: step.outcome?.exitCode ?? null,
    ...(reason === null ? {} : { reason }),
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
