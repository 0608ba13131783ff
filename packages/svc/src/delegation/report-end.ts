import { pause } from '@svc/kit/clock.ts';
import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { type Completion, completionFile, encodeCompletion, encodeCompletionRecord } from '@svc/protocol/completion.ts';
import type { CompletionDelivery, DelegationsDeps } from './delegations-deps.ts';

type Deps = Pick<DelegationsDeps, 'deliver' | 'writeChildFile' | 'warn' | 'clock'>;

export interface EndReport {
  readonly completion: Completion;
  readonly reportedBy: 'child' | 'launcher';
  /** Why the child could not deliver it; null when nobody has tried. */
  readonly undelivered: string | null;
  readonly to: Omit<CompletionDelivery, 'text' | 'delegationId'>;
}

const retryPauseMs = 1000;

/** Records an end that is told to nobody (D2 "Completion reporting", the third row). */
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
  const { contextId, trust } = to;
  const delivery = { text: encodeCompletion(completion), contextId, trust, delegationId: completion.delegation_id };
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

/** The end itself counts more than its record: a directory that cannot be written is told, and no more. */
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
