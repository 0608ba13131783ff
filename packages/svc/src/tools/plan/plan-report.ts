import { cutText } from './cut-text.ts';
import { planLimits, type SubmittedPlan } from './plan.ts';
import type { EndedPlan, EndedStep } from './plan-run.ts';

export type SavedPlan =
  /** Below the session directory. */
  { readonly kind: 'saved'; readonly name: string } | { readonly kind: 'not-saved'; readonly problem: string };

export interface PlanReport {
  /** JSON, so that no output can pass for a status. */
  readonly text: string;
  readonly truncated: boolean;
}

/** What the model is told of a plan: each step, with an equal share of what there is room for. */
export function reportPlan(planId: string, { outcome, steps }: EndedPlan, saved: SavedPlan): PlanReport {
  const share = Math.floor(planLimits.shownPlanBytes / steps.filter((step) => step.outcome !== null).length);
  const maxBytes = Math.min(planLimits.shownStepBytes, share);
  let truncated = false;
  const shown = steps.map((step) => {
    const { output, cut } = shownOutput(step, maxBytes);
    truncated ||= cut;
    return { ...headOf(step), ...(output === null ? {} : { output }), ...(cut ? { cut } : {}) };
  });
  const record =
    saved.kind === 'saved'
      ? { record: `${saved.name}, beside the trace, out of reach of tools` }
      : { record_problem: saved.problem };
  return { text: JSON.stringify({ plan: planId, outcome, steps: shown, ...record }), truncated };
}

/** What is kept of a plan: as it was submitted, and how each step ended. */
export function recordPlan(taskId: string, plan: SubmittedPlan, { outcome, steps }: EndedPlan): string {
  const kept = steps.map((step) => {
    const { output, cut } = shownOutput(step, planLimits.keptBytes);
    const { durationMs } = step;
    return {
      ...headOf(step),
      duration_ms: durationMs,
      ...(output === null ? {} : { output }),
      ...(cut ? { cut } : {}),
    };
  });
  return `${JSON.stringify({ task_id: taskId, outcome, steps: kept, plan }, null, 2)}\n`;
}

/** Why a step did not pass, where the runtime is who knows. */
export function reasonOf({ reason, outcome }: EndedStep): string | null {
  return outcome !== null && !outcome.reached ? outcome.content : reason;
}

function headOf(step: EndedStep): Readonly<Record<string, unknown>> {
  const { id, status, attempts } = step;
  const reason = reasonOf(step);
  return { id, status, ...(attempts > 1 ? { attempts } : {}), ...(reason === null ? {} : { reason }) };
}

function shownOutput({ outcome }: EndedStep, maxBytes: number): { output: string | null; cut: boolean } {
  if (outcome === null || !outcome.reached) return { output: null, cut: false };
  const { text, cut } = cutText(outcome.content, maxBytes);
  return { output: text, cut: cut || outcome.cut };
}
