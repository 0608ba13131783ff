/** What the loop of a session reads of its manifest. */

import type { CapsuleManifest } from '@svc/artifacts/manifest/schema.ts';
import type { Acceptance } from '../session/task-board.ts';
import type { TaskRunnerDeps } from '../session/task-runner.ts';

interface SessionSettings {
  readonly acceptance: Acceptance;
  readonly runner: Pick<TaskRunnerDeps, 'inference' | 'maxReopens' | 'inputTimeoutMs'>;
}

/** The settings of a session, of one that runs and of one that is run again; `system` is the text of its system prompt. */
export function sessionSettings(
  {
    inference,
    lifecycle,
  }: Pick<CapsuleManifest, 'lifecycle'> & { readonly inference: Omit<CapsuleManifest['inference'], 'api_key'> },
  system: string,
): SessionSettings {
  const { context, compaction } = inference;
  const { input_timeout_secs: inputTimeoutSecs } = lifecycle;
  return {
    acceptance: {
      taskAcceptance: lifecycle.task_acceptance,
      queueDepth: lifecycle.queue_depth,
      afterTask: lifecycle.after_task,
    },
    runner: {
      inference: {
        model: inference.model,
        system,
        maxTurns: inference.max_turns,
        maxTokens: inference.max_tokens,
        context: { maxTokens: context.max_tokens ?? null, threshold: compaction.threshold },
      },
      maxReopens: lifecycle.max_task_reopens,
      inputTimeoutMs: inputTimeoutSecs === undefined ? null : inputTimeoutSecs * 1000,
    },
  };
}
