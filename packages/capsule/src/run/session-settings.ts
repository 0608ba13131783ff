/** What a session reads of its manifest: for its loop, and for what its components are answered. */

import type { CapsuleManifest } from '@svc/artifacts/manifest/schema.ts';
import { type ImportMode, maxImportLog } from '@svc/components/import-log.ts';
import type { Acceptance } from '@svc/session/loop/task-board.ts';
import type { TaskRunnerDeps } from '@svc/session/loop/task-runner.ts';
import type { PreparedLaunch } from '../launch/prepare.ts';

interface SessionSettings {
  readonly acceptance: Acceptance;
  readonly runner: Pick<TaskRunnerDeps, 'inference' | 'maxReopens' | 'inputTimeoutMs' | 'projectText'>;
}

/** The settings of a session, of one that runs and of one that is run again, with the texts that are not in the manifest itself. */
export function sessionSettings(
  {
    inference,
    lifecycle,
  }: Pick<CapsuleManifest, 'lifecycle'> & { readonly inference: Omit<CapsuleManifest['inference'], 'api_key'> },
  { system, projectText }: { readonly system: string; readonly projectText: string | null },
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
      projectText,
      maxReopens: lifecycle.max_task_reopens,
      inputTimeoutMs: inputTimeoutSecs === undefined ? null : inputTimeoutSecs * 1000,
    },
  };
}

/** Whether what components are answered is recorded: of one call up to `trace.max_body`, and no more than a log may have. */
export function importMode({ loaded, capture }: Pick<PreparedLaunch, 'loaded' | 'capture'>): ImportMode {
  const { components, max_body: maxBody } = loaded.manifest.trace;
  if (!components || capture !== 'content') return { kind: 'live' };
  return { kind: 'recorded', maxBytes: Math.min(maxImportLog, maxBody) };
}
