/** Follows one child from its start to its end. */

import { elapsedMs } from '@svc/kit/clock.ts';
import type { ContextId, DelegationId } from '@svc/protocol/ids.ts';
import type { Completion, CompletionStatus } from '@svc/protocol/completion.ts';
import type { Trust } from '@svc/protocol/task-origin.ts';
import type { TraceEvent } from '@svc/record/trace/events.ts';
import type { LaunchEnd } from '@svc/sandbox/launcher.ts';
import {
  type ChildReport,
  isSettled,
  readChildReport,
  statusToldIn,
  recordEnd,
  recordHeard,
  reportEnd,
} from './completions.ts';
import type { ChildKey } from './child-key.ts';
import { describeEnd } from './child-process.ts';
import type { AskingChild, DelegationsDeps, OpenDelegation, RunningDelegation } from './delegations-deps.ts';
import { shortGraceMs, type ReadyChild } from './launch-child.ts';
import { releaseSlot } from './approve-child.ts';

/** One launch of a child, and the task behind it. */
export interface DelegationFacts {
  readonly id: DelegationId;
  readonly capsule: string;
  readonly version: string;
  /** The delegating task. */
  readonly taskId: string;
  readonly contextId: ContextId;
  readonly conversation: ContextId;
  readonly trust: Trust;
}

/** Why the parent waits for the child no more. */
type Leaving =
  /** Its process ended. */
  | 'ended'
  /** The child-watch bound has passed. */
  | 'expired'
  /** The parent's session ends, or the call that started it was canceled. */
  | 'stopped'
  /** It never had its task: there is no delegation. */
  | 'failed';

/**
 * A child, from its readiness until nothing of it is left. The first report of its end counts; later ones are dropped, so the parent gets
 * one report of each delegation (D2 "Completion reporting").
 */
export class Delegation implements OpenDelegation {
  readonly contextId: ContextId;
  readonly conversation: ContextId;
  readonly trust: Trust;
  /** Settles once the process is gone and its end is recorded. */
  readonly over: Promise<void>;
  /** It is null for a child that asks nobody. */
  readonly key: ChildKey | null;
  /** The same object each time. */
  readonly asking: AskingChild | null;
  readonly #facts: DelegationFacts;
  readonly #child: ReadyChild;
  readonly #deps: DelegationsDeps;
  readonly #stopping: AbortSignal;
  #closedBy: Leaving | 'child' | null = null;
  #isStarted = false;
  #told: 'ok' | 'error' | null = null;
  #leave: (leaving: Leaving) => void = () => {};
  #takeBackDeadline: () => void = () => {};

  constructor(
    facts: DelegationFacts,
    { child, key }: { readonly child: ReadyChild; readonly key: ChildKey | null },
    deps: DelegationsDeps,
    stopping: AbortSignal,
  ) {
    this.key = key;
    this.#facts = facts;
    this.#child = child;
    this.#deps = deps;
    this.#stopping = stopping;
    this.contextId = facts.contextId;
    this.conversation = facts.conversation;
    this.trust = facts.trust;
    const left = new Promise<Leaving>((resolve) => {
      this.#leave = (leaving) => {
        this.#closedBy ??= leaving;
        resolve(leaving);
      };
    });
    this.over = this.#live(left);
    const { id: delegationId, capsule, taskId, contextId, conversation } = facts;
    const { over } = this;
    const { sessionId } = child;
    this.asking =
      key === null ? null : { delegationId, sessionId, capsule, taskId, contextId, conversation, key, over };
  }

  /** The child may still report. */
  get isOpen(): boolean {
    return this.#closedBy === null;
  }

  /** The child has reported its end. */
  get isReported(): boolean {
    return this.#closedBy === 'child';
  }

  /** Returns null once it is closed, and until the child has its task. */
  get running(): RunningDelegation | null {
    if (!this.#isStarted || !this.isOpen) return null;
    const { id: delegationId, capsule, version } = this.#facts;
    const { sessionId, childWorkdir } = this.#child;
    return { delegationId, sessionId, capsule, version, childWorkdir };
  }

  complete(text: string): void {
    if (!this.isOpen) return;
    this.#closedBy = 'child';
    this.#told = statusToldIn(text);
    if (this.#isStarted) this.#record(this.#told);
  }

  /** The child has its task: its process and its time are watched from now on. */
  watch(): void {
    this.#isStarted = true;
    if (this.#told !== null) this.#record(this.#told);
    const { clock, deadlineMs } = this.#deps;
    const leftMs = this.#child.readyMs + deadlineMs - clock.monotonicMs();
    this.#takeBackDeadline = clock.after(Math.max(0, leftMs), () => this.#leave('expired'));
    void this.#child.program.ended.then(() => this.#leave('ended'));
  }

  /** Ends the child without a report. */
  end(why: 'stopped' | 'failed'): void {
    this.#leave(why);
  }

  async #live(left: Promise<Leaving>): Promise<void> {
    const leaving = await left;
    this.#takeBackDeadline();
    const durationMs = elapsedMs(this.#deps.clock, this.#child.readyMs);
    this.#recordEnding(durationMs);
    const end = await this.#child.program.end(leaving === 'failed' ? shortGraceMs : this.#deps.childGraceMs);
    const report = this.#childReport();
    // A child that reported its end and exited has deregistered itself. A caller that sees the end finds the slot free.
    const isOrderly = end.kind === 'exited' && (this.isReported || report !== null);
    if (!isOrderly) await releaseSlot(this.#child.sessionId, this.#deps);
    await this.#tell(end, report, durationMs);
  }

  /**
   * Records that the parent ends the child, before it signals the child: one that finds this record writes none of its own
   * (docs/adr/delegation.md "The end is recorded before the child is signaled").
   */
  #recordEnding(durationMs: number): void {
    const why = this.#whyEnded();
    if (why === null || this.#settledReport() !== null) return;
    recordEnd({ ...this.#completion(durationMs), status: 'terminated', detail: why }, this.#deps);
  }

  /** Returns null if the parent did not end the child. */
  #whyEnded(): string | null {
    if (this.#closedBy === 'expired') return `still running after ${this.#deps.deadlineMs / 1000} s`;
    return this.#closedBy === 'stopped' ? 'ended by its parent' : null;
  }

  /** Reports to all concerned how the child ended. What the child settled before its parent did stays: pollers have read it. */
  async #tell(end: LaunchEnd, report: ChildReport | null, durationMs: number): Promise<void> {
    switch (this.#closedBy) {
      case 'ended':
        if (report !== null) return await this.#tellReported(report);
        return await this.#tellOwn({ status: 'crashed', detail: this.#describe(end) }, durationMs);
      case 'expired': {
        if (report !== null && isSettled(report)) return await this.#tellReported(report);
        const detail = `${this.#whyEnded()}; ${this.#describe(end)}`;
        return await this.#tellOwn({ status: 'terminated', detail }, durationMs);
      }
      case 'stopped':
        if (report !== null && isSettled(report)) return this.#record(report.status);
        return this.#recordStopped(`${this.#whyEnded()}; ${this.#describe(end)}`, durationMs);
      case 'child':
        return this.#settleTold(report, durationMs);
      default:
      // There never was a delegation.
    }
  }

  #settledReport(): ChildReport | null {
    const report = this.#childReport();
    return report !== null && isSettled(report) ? report : null;
  }

  #childReport(): ChildReport | null {
    const { directory, sessionId } = this.#child;
    return readChildReport(directory, { delegationId: this.#facts.id, sessionId });
  }

  /** A child that was killed after its report could not record the delivery: a program that polls its record would wait for ever. */
  #settleTold(report: ChildReport | null, durationMs: number): void {
    if (report?.delivered === true) return;
    const result = report?.result_path === undefined ? {} : { result_path: report.result_path };
    const completion = this.#completion(report?.duration_ms ?? durationMs);
    recordHeard({ ...completion, status: this.#told ?? 'error', ...result }, this.#deps);
  }

  async #tellReported({ undelivered, delivered: _tried, ...report }: ChildReport): Promise<void> {
    this.#record(report.status);
    const completion = { ...this.#completion(report.duration_ms), ...report };
    const told = { completion, reportedBy: 'child', undelivered, to: this.#facts } as const;
    await reportEnd(told, this.#stopping, this.#deps);
  }

  async #tellOwn(
    { status, detail }: { readonly status: 'crashed' | 'terminated'; readonly detail: string },
    durationMs: number,
  ): Promise<void> {
    this.#record(status, detail);
    const completion = { ...this.#completion(durationMs), status, detail };
    const told = { completion, reportedBy: 'launcher', undelivered: null, to: this.#facts } as const;
    await reportEnd(told, this.#stopping, this.#deps);
  }

  #recordStopped(detail: string, durationMs: number): void {
    this.#record('terminated', detail);
    recordEnd({ ...this.#completion(durationMs), status: 'terminated', detail }, this.#deps);
  }

  #completion(durationMs: number): Omit<Completion, 'status'> {
    return {
      delegation_id: this.#facts.id,
      capsule_name: this.#facts.capsule,
      capsule_version: this.#facts.version,
      session_id: this.#child.sessionId,
      workdir: this.#child.directory,
      duration_ms: durationMs,
    };
  }

  #describe(end: LaunchEnd): string {
    return describeEnd(end, this.#child.program.lastWords(this.#deps.redact));
  }

  #record(status: CompletionStatus, detail?: string): void {
    this.#deps.record(delegationLine(this.#facts, { status, child: this.#child, detail }));
  }
}

type DelegationLine = Extract<TraceEvent, { event_type: 'delegation' }>;

/** The names of a delegation in the trace. */
interface DelegationNames extends Pick<DelegationFacts, 'id' | 'capsule' | 'version' | 'taskId'> {
  /** The step of a plan that asks for it; absent where the model does. */
  readonly stepId?: string;
}

/** The line that a delegation has in the trace (D2 "Events" 6). */
export function delegationLine(
  { id, capsule, version, taskId, stepId }: DelegationNames,
  {
    status,
    child,
    detail,
  }: {
    status: DelegationLine['status'];
    child?: Pick<ReadyChild, 'sessionId' | 'sessionDirectory'> | null;
    detail?: string | undefined;
  },
): DelegationLine {
  return {
    event_type: 'delegation',
    task_id: taskId,
    delegation_id: id,
    capsule,
    version,
    status,
    ...(child === undefined || child === null
      ? {}
      : { child_session_id: child.sessionId, child_session_directory: child.sessionDirectory }),
    ...(stepId === undefined ? {} : { step_id: stepId }),
    ...(detail === undefined ? {} : { detail }),
  };
}
