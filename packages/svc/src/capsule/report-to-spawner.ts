import { lstatSync } from 'node:fs';
import { join } from 'node:path';

import { isEndedByLauncher } from '../delegation/child-completion.ts';
import { completionFile } from '@svc/protocol/completion.ts';
import { reportCompletion } from '../delegation/report-completion.ts';
import type { SpawnerHandle } from '@svc/protocol/spawner-handle.ts';
import { Diagnostic, diagnosticOf } from '@svc/kit/diagnostics/diagnostic.ts';
import { unlessRefused } from '@svc/kit/files/unless-refused.ts';
import type { SessionOutcome } from '../session/session.ts';
import { writeWorkdirFile } from '../session/workdir-file.ts';
import type { SessionId } from '@svc/protocol/ids.ts';
import type { ScopedLaunch } from './prepare.ts';

/** What a session leaves behind. */
export interface EndedSession {
  readonly outcome: SessionOutcome;
  /** How many it was given. */
  readonly tasks: number;
  /** The accessible workdir, links resolved. */
  readonly workdir: string;
  readonly durationMs: number;
}

interface SpawnerReport extends EndedSession {
  readonly spawner: SpawnerHandle;
  readonly sessionId: SessionId;
  readonly scoped: Pick<ScopedLaunch, 'loaded' | 'listenerToken' | 'redactor'>;
  readonly onWarning: (warning: Diagnostic) => void;
}

const resultPath = 'out/result.txt';

/** Tells the parent of a delegated session how it ended (D2 "Completion reporting"). */
export async function reportToSpawner(report: SpawnerReport): Promise<void> {
  const { spawner, outcome, tasks, workdir, durationMs, sessionId, scoped, onWarning } = report;
  const { name, version } = scoped.loaded.manifest;
  await reportCompletion({
    spawner,
    listenerToken: scoped.listenerToken,
    messageId: `${spawner.delegation_id}-end`,
    completion: {
      delegation_id: spawner.delegation_id,
      capsule_name: name,
      capsule_version: version,
      session_id: sessionId,
      // One that ends before its task has come has done nothing well.
      status: outcome.status === 'ok' && tasks > 0 ? 'ok' : 'error',
      ...(hasResult(workdir) ? { result_path: resultPath } : {}),
      workdir,
      duration_ms: durationMs,
    },
    isEndedByParent: () => isEndedByLauncher(workdir, { delegationId: spawner.delegation_id, sessionId }),
    write: (text) =>
      diagnosticOf(() => writeWorkdirFile({ workdir, directory: null, name: completionFile, text }))?.message ?? null,
    warn: (line) => onWarning(new Diagnostic('W-RUN-008', scoped.redactor.redact(line))),
  });
}

/** Whether a task has written its result. */
function hasResult(workdir: string): boolean {
  return unlessRefused(() => lstatSync(join(workdir, resultPath)).isFile(), false);
}
