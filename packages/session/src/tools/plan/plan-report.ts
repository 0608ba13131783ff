/** Reports to the model and the record how the steps of a plan ended. */

import { join } from 'node:path';

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { makeDirectory } from '@svc/kit/files/make-directories.ts';
import { replaceFile } from '@svc/kit/files/replace-file.ts';
import { planLimits, type SubmittedPlan } from './plan.ts';
import type { EndedPlan, EndedStep } from './plan-run.ts';

export type SavedPlan =
  /** Below the session directory. */
  { readonly kind: 'saved'; readonly name: string } | { readonly kind: 'not-saved'; readonly problem: string };

interface PlanReport {
  /** JSON, so that no output can pass for a status. */
  readonly text: string;
  readonly truncated: boolean;
}

/** Writes what the model receives of a plan: each step with an equal share of the room. What is cut of it is redacted (`cutText`). */
export function reportPlan(
  planId: string,
  { outcome, steps }: EndedPlan,
  saved: SavedPlan,
  redact: Redact,
): PlanReport {
  const share = Math.floor(planLimits.shownPlanBytes / steps.filter((step) => step.outcome !== null).length);
  const maxBytes = Math.min(planLimits.shownStepBytes, share);
  let truncated = false;
  const shown = steps.map((step) => {
    const { output, cut } = shownOutput(step, maxBytes, redact);
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
export function recordPlan(taskId: string, plan: SubmittedPlan, { outcome, steps }: EndedPlan, redact: Redact): string {
  const kept = steps.map((step) => {
    const { output, cut } = shownOutput(step, planLimits.keptBytes, redact);
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

function shownOutput(
  { outcome }: EndedStep,
  maxBytes: number,
  redact: Redact,
): { output: string | null; cut: boolean } {
  if (outcome === null || !outcome.reached) return { output: null, cut: false };
  const { text, cut } = cutText(outcome.content, maxBytes, redact);
  return { output: text, cut: cut || outcome.cut };
}

/** Takes secrets out, as for a line of the trace. */
type Redact = (text: string) => string;

/**
 * `text`, or, where that is more than `maxBytes` of UTF-8, as many characters as fit of what `redact` makes of it. Cut before it is redacted, it
 * could end with a part of a secret, and a replay, which has only redacted texts, would cut elsewhere. Holds on to nothing of a longer text.
 */
export function cutText(
  text: string,
  maxBytes: number,
  redact: Redact,
): { readonly text: string; readonly cut: boolean } {
  if (fits(text, maxBytes)) return { text, cut: false };
  const clean = redact(text);
  // A code unit is at least one byte, so what is needed is in this slice; a copy, since a slice would keep the whole alive.
  const bytes = Buffer.from(clean.slice(0, maxBytes));
  let end = Math.min(maxBytes, bytes.length);
  while (end > 0 && ((bytes[end] ?? 0) & 0b1100_0000) === 0b1000_0000) end -= 1;
  return { text: bytes.toString('utf8', 0, end), cut: !fits(clean, maxBytes) };
}

function fits(text: string, maxBytes: number): boolean {
  return text.length * 3 <= maxBytes || (text.length <= maxBytes && Buffer.byteLength(text) <= maxBytes);
}

export interface PlanFileSettings {
  /** Where the trace lies, owner-only. */
  readonly sessionDirectory: string;
  readonly redact: Redact;
}

interface PlanFile {
  /** Distinguishes the plans of a session. */
  readonly number: number;
  readonly planId: string;
  readonly text: string;
}

/** Where a plan is kept. */
export function savedPlan(number: number, planId: string): Extract<SavedPlan, { kind: 'saved' }> {
  return { kind: 'saved', name: `plans/${number}-${planId}.json` };
}

/** Keeps a plan as `savedPlan` says, the owner's alone, whole or not at all. Gives why not: a disk that refuses it is part of the answer. */
export async function savePlan(
  file: PlanFile,
  { sessionDirectory, redact }: PlanFileSettings,
): Promise<Extract<SavedPlan, { kind: 'not-saved' }> | null> {
  const { name } = savedPlan(file.number, file.planId);
  try {
    await makeDirectory(join(sessionDirectory, 'plans'), 0o700);
    await replaceFile(join(sessionDirectory, name), [Buffer.from(redact(file.text))], { mode: 0o600 });
    return null;
  } catch (error) {
    if (!(error instanceof Diagnostic)) throw error;
    return { kind: 'not-saved', problem: error.message };
  }
}
