/** Reads and writes how a child ended, and reports it to the session. */

import { printable, shortened } from '@svc/kit/diagnostics/printable.ts';
import { HeldDirectory } from '@svc/kit/files/held-directory.ts';
import { unlessRefused } from '@svc/kit/files/unless-refused.ts';
import { pause } from '@svc/kit/clock.ts';
import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import {
  completionFile,
  decodeCompletion,
  maxCompletion,
  type Completion,
  type DecodedCompletion,
  encodeCompletion,
  encodeCompletionRecord,
} from '@svc/protocol/completion.ts';
import type { CompletionDelivery, DelegationsDeps } from './delegations-deps.ts';

/** The end as the child recorded it; the launcher's fields are left out. */
export interface ChildReport extends Pick<Completion, 'result_path' | 'duration_ms'> {
  readonly status: 'ok' | 'error';
  /** Whether the child knew that it was. */
  readonly delivered: boolean;
  /** Why it could not be delivered; null when the child was gone before it had tried. */
  readonly undelivered: string | null;
}

const maxResultPath = 1024;
const maxReason = 1000;

/** Whose record it has to be. */
interface DelegationIds {
  readonly delegationId: string;
  readonly sessionId: string;
}

/**
 * What a child left in `completion.json`; null when that is not its own record of this delegation. The directory, by its canonical path,
 * belongs to the child's agent, who does not know the id of the delegation; no link on the way there is followed.
 */
export function readChildReport(directory: string, ids: DelegationIds): ChildReport | null {
  const record = readRecord(directory, ids);
  if (record?.reportedBy !== 'child') return null;
  const { status, durationMs, resultPath, delivered, deliveryError: reason } = record;
  if ((status !== 'ok' && status !== 'error') || durationMs === null) return null;
  const result = resultPath !== null && isResultPath(resultPath) ? { result_path: resultPath } : {};
  const undelivered = reason === null ? null : printable(shortened(reason, maxReason));
  return { status, duration_ms: Math.round(durationMs), delivered, undelivered, ...result };
}

/** Whether a child's record says what became of it: nobody who polls waits any longer, so it must not change its end again. */
export function isSettled({ delivered, undelivered }: ChildReport): boolean {
  return delivered || undelivered !== null;
}

/** Whether the parent has recorded the end of this delegation itself, as it does before it signals the child. Reads as `readChildReport` does. */
export function isEndedByLauncher(directory: string, ids: DelegationIds): boolean {
  return readRecord(directory, ids)?.reportedBy === 'launcher';
}

/** The status that a child reported; `error` when it reported nothing. */
export function statusToldIn(text: string): 'ok' | 'error' {
  return decodeCompletion(text)?.status === 'ok' ? 'ok' : 'error';
}

function readRecord(directory: string, { delegationId, sessionId }: DelegationIds): DecodedCompletion | null {
  const text = readFileOf(directory);
  const record = text === null ? null : decodeCompletion(text);
  return record?.delegationId === delegationId && record.sessionId === sessionId ? record : null;
}

function isResultPath(path: string): boolean {
  const isShort = path !== '' && path.length <= maxResultPath;
  return isShort && !path.includes('\0') && !path.split('/').some((part) => part === '' || part === '..');
}

/** Returns null when it is not there, behind or itself a link, no regular file, or too large. */
function readFileOf(directory: string): string | null {
  return unlessRefused(() => {
    const held = HeldDirectory.open(directory);
    try {
      return held.readFile(completionFile, maxCompletion)?.toString('utf8') ?? null;
    } finally {
      held.close();
    }
  }, null);
}

type Deps = Pick<DelegationsDeps, 'deliver' | 'writeChildFile' | 'warn' | 'clock'>;

interface EndReport {
  readonly completion: Completion;
  readonly reportedBy: 'child' | 'launcher';
  /** Why the child could not deliver it; null when nobody has tried. */
  readonly undelivered: string | null;
  readonly to: Omit<CompletionDelivery, 'text' | 'delegationId'>;
}

const retryPauseMs = 1000;

/** Records an end that nobody reports (D2 "Completion reporting", the third row). */
export function recordEnd(completion: Completion, deps: Deps): void {
  write({ completion, reportedBy: 'launcher' }, { delivered: false }, deps);
}

/** Records for a child that its own report was heard. */
export function recordHeard(completion: Completion, deps: Deps): void {
  write({ completion, reportedBy: 'child' }, { delivered: true }, deps);
}

/**
 * Records an end, gives it to the session, once more after a refusal, and records what came of that (D2 "Events" 5). What a child has tried
 * to deliver in vain has one attempt left. Once `stopping` is aborted nothing is tried again.
 */
export async function reportEnd(report: EndReport, stopping: AbortSignal, deps: Deps): Promise<void> {
  const { completion, reportedBy, to } = report;
  if (reportedBy === 'launcher') write(report, { delivered: false }, deps);
  const { contextId, conversation, trust } = to;
  const { delegation_id: delegationId } = completion;
  const delivery = { text: encodeCompletion(completion), contextId, conversation, trust, delegationId };
  let problem = report.undelivered ?? deliver(delivery, deps);
  if (problem !== null && (await mayTryAgain(stopping, deps))) problem = deliver(delivery, deps);
  if (problem === null) return write(report, { delivered: true }, deps);
  write(report, { delivered: false, delivery_error: problem }, deps);
  deps.warn(`the completion of ${completion.delegation_id} could not be delivered: ${problem}`);
}

/** A session whose trace cannot be written takes nothing more. */
function deliver(delivery: CompletionDelivery, deps: Deps): string | null {
  try {
    return deps.deliver(delivery);
  } catch (error) {
    if (!(error instanceof Diagnostic)) throw error;
    return error.message;
  }
}

async function mayTryAgain(stopping: AbortSignal, { clock }: Deps): Promise<boolean> {
  try {
    await pause(clock, retryPauseMs, stopping);
    return true;
  } catch (error) {
    if (!stopping.aborted) throw error;
    return false;
  }
}

type Outcome = { readonly delivered: boolean; readonly delivery_error?: string };

/** The end itself counts more than its record: a directory that cannot be written only causes a warning. */
function write(
  { completion, reportedBy }: Pick<EndReport, 'completion' | 'reportedBy'>,
  outcome: Outcome,
  deps: Deps,
): void {
  try {
    const text = encodeCompletionRecord({ ...completion, reported_by: reportedBy, ...outcome });
    deps.writeChildFile(completion.workdir, completionFile, text);
  } catch (error) {
    if (!(error instanceof Diagnostic)) throw error;
    deps.warn(`the end of ${completion.delegation_id} could not be recorded: ${error.message}`);
  }
}
