import type { DispatchedCall } from '../dispatch.ts';
import type { ToolCallContext } from '../tool.ts';
import { fenceUntrusted } from '../untrusted-fence.ts';
import { type RunCapsuleStep, nothingRan, type StepOutcome } from './capsule-step.ts';
import { cutText } from './plan-report.ts';
import { planLimits, type PlanStep, type StepWork, fillReferences, referencesIn } from './plan.ts';
import type { EndedStep } from './plan-run.ts';

export interface AttemptDeps {
  readonly context: ToolCallContext;
  readonly runCapsuleStep: RunCapsuleStep;
}

type Ended = ReadonlyMap<string, EndedStep>;

/**
 * One attempt at a step: its references are filled in, then it is carried out as if the model had made the call, so its arguments are
 * checked and hooks judge it. Rejects with the signal's reason on cancel, or for a bug.
 */
export async function attemptStep({ id, work }: PlanStep, ended: Ended, deps: AttemptDeps): Promise<StepOutcome> {
  const filled = fillWork(work, ended);
  if (filled.kind === 'not-filled') return nothingRan(filled.reason);
  const { context, runCapsuleStep } = deps;
  if (filled.work.kind === 'capsule') {
    const { name: capsule, version, task } = filled.work;
    context.signal.throwIfAborted();
    return bounded(await runCapsuleStep({ id, capsule, version, task }, context));
  }
  const { name } = filled.work;
  const input = filled.work.kind === 'shell' ? { command: filled.work.command } : filled.work.input;
  return outcomeOf(await context.tools.dispatch({ id: '', name, input }));
}

/** The input of a step as it is called, for the trace; null where it could not be filled in. */
export function calledWith(work: StepWork, ended: Ended): unknown {
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

function outcomeOf(call: DispatchedCall): StepOutcome {
  const { kind, isError, exitCode, reached, fenceSource } = call;
  // As a call, a command has passed when it ran to its end; as a step, when it says so itself.
  const passed = !isError && (kind !== 'shell' || exitCode === 0);
  // It runs yet: what it has written is not whole, and another attempt would be a second one beside it.
  const inBackground = kind === 'shell' && !isError && exitCode === null;
  return bounded({
    status: passed ? 'passed' : 'failed',
    reached,
    content: call.unfenced,
    output: call.output,
    fenceSource,
    cut: call.truncated || inBackground,
    exitCode,
    retryable: reached && !passed && !inBackground,
  });
}

/** Keeps no more of a step than a plan of many steps can hold. */
function bounded(outcome: StepOutcome): StepOutcome {
  const content = cutText(outcome.content, planLimits.keptBytes);
  const output = cutText(outcome.output, planLimits.keptBytes);
  return { ...outcome, content: content.text, output: output.text, cut: outcome.cut || content.cut || output.cut };
}

function notFilled(reason: string): FilledWork {
  return { kind: 'not-filled', reason };
}
