/** What a plan asks of another capsule, and how a step of a plan ends. */

import type { ToolCallContext } from '../tool.ts';

/** What a `capsule` step asks for. */
export interface CapsuleStep {
  readonly id: string;
  readonly capsule: string;
  readonly version: string;
  /** The capsule's whole input. Outputs of earlier steps stand in it fenced. */
  readonly task: string;
}

/** Gives a task to a capsule and waits for its answer. Expected failures are outcomes; rejects with the signal's reason on cancel. */
export type RunCapsuleStep = (
  step: CapsuleStep,
  context: Pick<ToolCallContext, 'taskId' | 'place' | 'signal' | 'record'>,
) => Promise<StepOutcome>;

/** Capsule steps of a capsule that may not delegate. Without `SVC_REFEREE_URL` the step says that it is not set (D2 "Other codes"). */
export function capsuleStepsWithoutReferee(refereeUrl: string | undefined): RunCapsuleStep {
  const isSet = refereeUrl !== undefined && refereeUrl.trim() !== '';
  return async ({ capsule }) =>
    nothingRan(
      isSet
        ? `capabilities.spawn.allow does not list ${capsule}`
        : 'SVC_REFEREE_URL is not set: a capsule step asks the referee at that address',
    );
}

/** How one attempt at a step ended. */
export interface StepOutcome {
  readonly status: 'passed' | 'failed';
  /** False when nothing of a tool ran: the content is the runtime's own. */
  readonly reached: boolean;
  /** What there is to read, unfenced. */
  readonly content: string;
  /** What later steps can be handed, unfenced. */
  readonly output: string;
  /** The source that the fence around the output names; null for words of the runtime itself or of a skill. */
  readonly fenceSource: string | null;
  /** Content or output are not whole. */
  readonly cut: boolean;
  readonly exitCode: number | null;
  /** Another attempt may end differently. */
  readonly retryable: boolean;
}

/** The outcome of a step that ran nothing. */
export function nothingRan(reason: string): StepOutcome {
  return {
    status: 'failed',
    reached: false,
    content: reason,
    output: '',
    fenceSource: null,
    cut: false,
    exitCode: null,
    retryable: false,
  };
}
