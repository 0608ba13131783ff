/** Writes the records of a session into its journal: what it began with, what went through its recorder, and its end. */

import { runSync, type Steps } from '@svc/kit/yield-to-loop.ts';
import { systemClock } from '@svc/kit/system-clock.ts';
import { Diagnostic, diagnosticOf } from '@svc/kit/diagnostics/diagnostic.ts';
import { isSystemError, systemReason } from '@svc/kit/diagnostics/system-reason.ts';
import { readTextBeneath } from '@svc/kit/files/read-beneath.ts';
import { recordRedaction } from '@svc/kit/diagnostics/handle-id.ts';
import { version } from '@svc/kit/version.ts';
import type { SessionId } from '@svc/protocol/ids.ts';
import { type Capture, type Journal, openJournal } from '@svc/record/journal/journal-writer.ts';
import { holdJournal } from '@svc/record/sessions/journal-holder.ts';
import type { Retained } from '@svc/record/sessions/journal-retention.ts';
import { hasOtherSessions, isLookDue } from '@svc/record/sessions/last-look.ts';
import type { HistoryEvent } from '@svc/session/recorder/recorder.ts';
import { JournalLines } from '@svc/session/replay/journal-lines.ts';
import type { SessionStatus } from '@svc/session/session.ts';
import type { Task, TaskState } from '@svc/session/task/task.ts';
import type { Tool } from '@svc/session/tools/tool.ts';
import type { PreparedLaunch } from '../launch/prepare.ts';
import type { ContinuedSession } from '../launch/running-capsule.ts';
import { hookSetups, type KeptWhere, toolSetup } from '../stage/session-setup.ts';

/** Disk space that a default journal must leave free. The trace is on the same disk, and a session ends when its trace cannot be written. */
const spareOfDisk = 16 * 1024 * 1024;

/** What is recorded of a session at its beginning. */
export interface KeeperRequest {
  readonly launch: PreparedLaunch;
  readonly sessionId: SessionId;
  readonly capture: Capture;
  /** The directory of the session, which has its trace. */
  readonly directory: string;
  readonly tools: readonly Tool[];
  readonly conversations: KeptWhere;
  /** The session that this one goes on with. */
  readonly continues?: Pick<ContinuedSession, 'session'> | undefined;
  /** Called once, when the journal has reached `trace.max_bytes`. */
  readonly onWarning: (warning: Diagnostic) => void;
}

/** What a session needs to remove journals of earlier ones. */
export interface RetentionOfSession extends Pick<KeeperRequest, 'launch'> {
  /** The user's, whose running records are looked at. */
  readonly home: string;
  /** Called once, where journals were removed or should have been. */
  readonly onRetained: (retained: Retained) => void;
}

/** A task that is over. */
export interface SettledTask extends Pick<Task, 'id' | 'attempts' | 'turns' | 'result'> {
  readonly state: Extract<TaskState, 'completed' | 'failed' | 'canceled'>;
  /** What its last status said, or why it failed. */
  readonly message: string;
}

/** A journal that is open. Each function throws the Diagnostic `E-IO-006` of what cannot be written. */
export class JournalKeeper {
  readonly #journal: Journal;
  readonly #lines: JournalLines;
  /** Releases the journal; later sessions may then delete it. */
  readonly #release: () => void;

  constructor(request: KeeperRequest) {
    const { launch, sessionId: session, capture, directory, onWarning } = request;
    const { max_body: maxBody, max_bytes: maxBytes } = launch.loaded.manifest.trace;
    const redact = recordRedaction(launch.redactor);
    const onFull = (): void => onWarning(full(maxBytes));
    const limits = { maxBody, maxBytes, spare: launch.isCaptureAsked ? 0 : spareOfDisk };
    this.#release = heldJournal(directory);
    let journal: Journal | null = null;
    try {
      journal = openJournal({ directory, session, capture, redact, limits, clock: systemClock, onFull });
      this.#journal = journal;
      this.#lines = new JournalLines(journal, redact, Math.floor(maxBytes / 4));
      runSync(this.#open(request));
    } catch (error) {
      // Closing can fail as well; report the first error.
      diagnosticOf(() => journal?.close());
      this.#release();
      throw error;
    }
  }

  /** `at` is when it went through, in Unix milliseconds. */
  write(historyEvent: HistoryEvent, at: number): Steps<void> {
    return this.#lines.write(historyEvent, at);
  }

  *settled({ result, ...end }: SettledTask, at: number): Steps<void> {
    const kept = result === null ? null : yield* this.#journal.body(result);
    this.#journal.append({ k: 'task-end', at, ...end, result: kept });
  }

  /** Pass null after a crash; the journal then has no `close` record. */
  close(outcome: { readonly status: SessionStatus; readonly reason: string | null } | null): void {
    try {
      if (outcome !== null) this.#journal.append({ k: 'close', ...outcome });
    } finally {
      this.#journal.close();
      this.#release();
    }
  }

  *#open({ launch, sessionId: session, capture, tools, conversations, continues }: KeeperRequest): Steps<void> {
    const { loaded, scope, artifacts, projectText, source } = launch;
    const { manifest, systemPrompt, text } = loaded;
    const { name, version: capsuleVersion, inference, lifecycle } = manifest;
    const journal = this.#journal;
    journal.append({
      k: 'open',
      version: 1,
      session,
      epoch: 1,
      svc: version,
      node: process.versions.node,
      capture,
      trusted: scope.containment.achieved !== 'advisory',
      capsule: { name, version: capsuleVersion, ...(source.archive === undefined ? {} : { sha256: source.archive }) },
      ...(continues === undefined ? {} : { continues: continues.session }),
    });
    const lock = readTextBeneath(source.lockDirectory, 'svc.lock');
    journal.append({
      k: 'setup',
      manifest: yield* journal.body(text),
      lock: lock.kind === 'text' ? yield* journal.body(lock.text) : null,
      system: yield* journal.body(systemPrompt),
      tools: yield* this.#lines.json(tools.map(toolSetup)),
      grants: yield* this.#lines.json(scope),
      hooks: yield* this.#lines.json(hookSetups(artifacts)),
      settings: yield* this.#lines.json({
        inference,
        lifecycle,
        conversations,
        hasKey: loaded.apiKey !== undefined,
        ...(projectText === null ? {} : { projectText }),
      }),
    });
  }
}

/** `E-IO-006` */
function heldJournal(directory: string): () => void {
  try {
    return holdJournal(directory, systemClock);
  } catch (error) {
    if (!isSystemError(error)) throw error;
    const reason = systemReason(error);
    throw new Diagnostic('E-IO-006', `the journal in ${directory} cannot be written: ${reason}`, { cause: error });
  }
}

function full(maxBytes: number): Diagnostic {
  return new Diagnostic('W-RUN-061', `the journal has reached ${maxBytes} bytes: from here on it keeps hashes alone`, {
    hint: 'raise trace.max_bytes to keep every text of a session this long',
  });
}

/** Nobody asked for the journal: the session does its work without it. */
export function withoutJournal({ message, hint }: Diagnostic): Diagnostic {
  const details = hint === undefined ? {} : { hint };
  return new Diagnostic('W-RUN-063', `the session goes on without a journal: ${message}`, details);
}

/** Long enough for the first model request to be sent first. */
const retainAfterMs = 250;
/** How much longer the end of a session may take because of it. */
const retainAtEndMs = 250;

/**
 * Removes, a little later, journals that are beyond `trace.keep`. The returned function makes it begin now where it is due, and end in a moment: short
 * sessions take turns.
 */
export function retainLater({ launch, home, onRetained }: RetentionOfSession): () => Promise<void> {
  const stop = new AbortController();
  const { keep } = launch.loaded.manifest.trace;
  const { root } = launch.source;
  const retain = async (): Promise<void> => {
    const { retainJournals } = await import('@svc/record/sessions/journal-retention.ts');
    const retained = await retainJournals({ root, home, keep, clock: systemClock, signal: stop.signal });
    if (retained.removed + retained.left > 0) onRetained(retained);
  };
  let retaining: Promise<void> | null = null;
  const cancelTimer = systemClock.after(retainAfterMs, () => {
    if (hasOtherSessions(root)) retaining = retain();
  });
  return async () => {
    cancelTimer();
    if (retaining === null && !isLookDue(root, keep, systemClock)) return;
    const abandon = systemClock.after(retainAtEndMs, () => stop.abort());
    try {
      await (retaining ?? retain());
    } finally {
      abandon();
    }
  };
}
