/** Reports to the parent of a delegated session how it ended. */

import { lstatSync } from 'node:fs';
import { join } from 'node:path';

import { Diagnostic, diagnosticOf } from '@svc/kit/diagnostics/diagnostic.ts';
import { unlessRefused } from '@svc/kit/files/unless-refused.ts';
import type { Secret } from '@svc/kit/diagnostics/secret.ts';
import {
  completionFile,
  encodeCompletion,
  encodeCompletionRecord,
  type Completion,
  type CompletionRecord,
} from '@svc/protocol/completion.ts';
import type { SpawnerHandle } from '@svc/protocol/spawner-handle.ts';
import type { SessionId } from '@svc/protocol/ids.ts';
import { encodeMessage } from '@svc/protocol/message.ts';
import { encodeTaskOrigin } from '@svc/protocol/task-origin.ts';
import { decodeTask } from '@svc/protocol/task-object.ts';
import { isEndedByLauncher } from '@svc/session/delegation/completions.ts';
import type { SessionOutcome } from '@svc/session/session.ts';
import { writeWorkdirFile } from '@svc/session/workdir/workdir-file.ts';
import { callCapsule, type CapsuleAnswer } from '@svc/session/delegation/capsule-call.ts';
import type { ScopedLaunch } from '../launch/prepare.ts';
import type { RunRequest } from '../launch/running-capsule.ts';

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
  readonly request: Pick<RunRequest, 'isParentThere'>;
  readonly sessionId: SessionId;
  readonly scoped: Pick<ScopedLaunch, 'loaded' | 'listenerToken' | 'redactor'>;
  readonly onWarning: (warning: Diagnostic) => void;
}

const resultPath = 'out/result.txt';

/** Reports to the parent of a delegated session how it ended (D2 "Completion reporting"). */
export async function reportToSpawner(report: SpawnerReport): Promise<void> {
  const { spawner, request, outcome, tasks, workdir, durationMs, sessionId, scoped, onWarning } = report;
  const { name, version } = scoped.loaded.manifest;
  await reportCompletion({
    spawner,
    isParentThere: request.isParentThere ?? (() => true),
    listenerToken: scoped.listenerToken,
    messageId: `${spawner.delegation_id}-end`,
    completion: {
      delegation_id: spawner.delegation_id,
      capsule_name: name,
      capsule_version: version,
      session_id: sessionId,
      // A session that ends before its task has come has done nothing well.
      status: outcome.status === 'ok' && tasks > 0 ? 'ok' : 'error',
      ...(hasResult(workdir) ? { result_path: resultPath } : {}),
      workdir,
      duration_ms: durationMs,
    },
    isEndedByParent: () => isEndedByLauncher(workdir, { delegationId: spawner.delegation_id, sessionId }),
    write: (text) =>
      diagnosticOf(() => writeWorkdirFile({ workdir, directory: null, name: completionFile, content: text }))
        ?.message ?? null,
    warn: (line) => onWarning(new Diagnostic('W-RUN-008', scoped.redactor.redact(line))),
  });
}

/** Whether a task has written its result. */
function hasResult(workdir: string): boolean {
  return unlessRefused(() => lstatSync(join(workdir, resultPath)).isFile(), false);
}

interface CompletionReport {
  readonly spawner: SpawnerHandle;
  /**
   * Another program may listen at the address of a parent that has ended, and is not shown the token (docs/adr/listener.md "Who is sent the listener token").
   */
  readonly isParentThere: () => boolean;
  readonly completion: Completion;
  /** Names the message. */
  readonly messageId: string;
  /** The parent's listener may require it; null when this process holds none. */
  readonly listenerToken: Secret | null;
  /** Whether the parent has recorded an end of this session itself. */
  readonly isEndedByParent: () => boolean;
  /** Puts `completion.json` into the child's own workdir, whole; gives why that failed, or null. */
  readonly write: (text: string) => string | null;
  /** A line for standard error. */
  readonly warn: (line: string) => void;
}

/** A child that is being stopped ends within its own time all the same. */
const timeoutMs = 5000;

/**
 * Reports to the parent how this session ended: writes `completion.json`, posts one message, and writes again what became of it (D2 "Events" 1,
 * 2, 5). A report that does not arrive fails nobody: it is recorded, and warned of in one line. A parent that has ended this session itself gets
 * no report, and its record stays.
 */
export async function reportCompletion(report: CompletionReport): Promise<void> {
  const { completion, isEndedByParent, write, warn } = report;
  if (isEndedByParent()) return;
  const record: CompletionRecord = { ...completion, reported_by: 'child', delivered: false };
  const unwritten = write(encodeCompletionRecord(record));
  const refusal = refusalOf(await post(report));
  // A parent that closed the delegation meanwhile recorded its end before it refused this report.
  if (refusal !== null && isEndedByParent()) return;
  const settled = refusal === null ? { ...record, delivered: true } : { ...record, delivery_error: refusal };
  const unwrittenEnd = write(encodeCompletionRecord(settled));
  const problem = unwritten ?? unwrittenEnd;
  if (problem !== null) warn(`the completion cannot be recorded: ${problem}`);
  if (refusal !== null) warn(`the completion of ${completion.delegation_id} was not delivered: ${refusal}`);
}

async function post(report: CompletionReport): Promise<CapsuleAnswer> {
  const { spawner, isParentThere, completion, messageId, listenerToken } = report;
  if (!isParentThere()) return { kind: 'none', reason: 'it has ended' };
  const text = encodeCompletion(completion);
  const params = encodeMessage({ messageId, role: 'user', text, contextId: spawner.context_id });
  const { trust, session_id: sessionId, delegation_id: delegationId } = spawner;
  return await callCapsule(
    { endpoint: new URL('/', spawner.url), token: listenerToken },
    {
      method: 'message/send',
      params,
      headers: encodeTaskOrigin({ kind: 'completion', trust, sessionId, delegationId }),
      timeoutMs,
    },
  );
}

/** Returns null when the parent has it in its queue. */
function refusalOf(answer: CapsuleAnswer): string | null {
  if (answer.kind === 'none') return `the parent cannot be reached: ${answer.reason}`;
  if (answer.kind === 'error') return `the parent refused it: ${answer.message}`;
  if (answer.kind === 'other' && answer.status !== 200) return `the parent answered with status ${answer.status}`;
  const task = answer.kind === 'result' ? decodeTask(answer.result) : null;
  if (task === null) return 'the parent gave no answer that can be read';
  return task.state === 'rejected' ? `the parent refused it: ${task.message ?? 'rejected'}` : null;
}
