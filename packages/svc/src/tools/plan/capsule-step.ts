import type { ToolCallContext } from '../tool.ts';
import { nothingRan, type StepOutcome } from './step-outcome.ts';

/** What a `capsule` step asks for. */
export interface CapsuleStep {
  readonly id: string;
  readonly capsule: string;
  readonly version: string;
  /** Everything the capsule is told. Outputs of earlier steps stand in it fenced. */
  readonly task: string;
}

/** Gives a task to a capsule and waits for its answer. Expected failures are outcomes; rejects with the signal's reason on cancel. */
export type RunCapsuleStep = (
  step: CapsuleStep,
  context: Pick<ToolCallContext, 'taskId' | 'signal' | 'record'>,
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
