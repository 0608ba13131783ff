/** Holds all children of one session. */

import { mintDelegationId, type DelegationId } from '@svc/protocol/ids.ts';
import { nothingRan, type StepOutcome, type CapsuleStep, type RunCapsuleStep } from '../tools/plan/capsule-step.ts';
import type { ToolCallContext } from '../tools/tool.ts';
import { approveChild } from './approve-child.ts';
import { describeEnd } from './child-process.ts';
import { Delegation, delegationLine, type DelegationFacts } from './delegation.ts';
import type {
  AskingChild,
  DelegationRequest,
  DelegationsDeps,
  OpenDelegation,
  RunningDelegation,
  StartOutcome,
} from './delegations-deps.ts';
import { deliverTask } from './capsule-call.ts';
import { ChildKey, hashOf } from './child-key.ts';
import { launchChild, type ReadyChild } from './launch-child.ts';
import { recordEnd } from './completions.ts';
import { runCapsuleStep } from './run-capsule-step.ts';

type DelegatingCall = Pick<ToolCallContext, 'taskId' | 'signal' | 'record'>;

/** The children of one session: started for a call, watched until they are gone, each reported once. */
export class Delegations {
  readonly #deps: DelegationsDeps;
  readonly #delegations = new Map<string, Delegation>();
  readonly #calls = new Set<Promise<unknown>>();
  readonly #stopping = new AbortController();

  constructor(deps: DelegationsDeps) {
    this.#deps = deps;
  }

  /** Asks for a child, starts it and gives it its task. Rejects with the reason of the call's signal; what was started then is ended. */
  async start(request: DelegationRequest, call: DelegatingCall): Promise<StartOutcome> {
    const delegationId = mintDelegationId(this.#deps.clock);
    const atStop: StartOutcome = { kind: 'failed', delegationId, sessionId: null, reason: sessionEnds };
    return await this.#whileRunning(call, atStop, async (signal) => {
      return await this.#start(delegationId, request, { ...call, signal });
    });
  }

  /** Carries out a capsule step of a plan. Rejects with the reason of the call's signal; what was started then is ended. */
  readonly runStep: RunCapsuleStep = async (step: CapsuleStep, call: DelegatingCall): Promise<StepOutcome> => {
    return await this.#whileRunning(call, nothingRan(sessionEnds), async (signal) => {
      return await runCapsuleStep(step, { ...call, signal }, this.#deps);
    });
  };

  /** The delegation of this id while its child may still report; null for what is unknown or closed. */
  open(delegationId: string): OpenDelegation | null {
    const delegation = this.#delegations.get(delegationId);
    return delegation?.isOpen === true ? delegation : null;
  }

  /** The child that shows this token, as long as it may report; null for any other. */
  childOf(token: Buffer): AskingChild | null {
    const hash = hashOf(token);
    const shown = [...this.#delegations.values()].find(({ isOpen, key }) => isOpen && key?.tokenHash === hash);
    return shown?.asking ?? null;
  }

  /** The children that hold a task and have not reported their end, in the order of their starts. */
  get running(): readonly RunningDelegation[] {
    return [...this.#delegations.values()].flatMap(({ running }) => running ?? []);
  }

  /** Ends every child and settles when nothing of them is left. It records their ends without a report (D2 "Completion reporting"). */
  async stop(): Promise<void> {
    this.#stopping.abort(new Error(sessionEnds));
    for (const delegation of this.#delegations.values()) delegation.end('stopped');
    await Promise.allSettled(this.#calls);
    await Promise.all([...this.#delegations.values()].map(({ over }) => over));
  }

  async #whileRunning<T>({ signal }: DelegatingCall, atStop: T, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const stopping = this.#stopping.signal;
    const running = work(AbortSignal.any([signal, stopping]));
    this.#calls.add(running);
    try {
      return await running;
    } catch (error) {
      signal.throwIfAborted();
      if (error === stopping.reason) return atStop;
      throw error;
    } finally {
      this.#calls.delete(running);
    }
  }

  async #start(id: DelegationId, request: DelegationRequest, call: DelegatingCall): Promise<StartOutcome> {
    const { capsule, version } = request;
    const { taskId } = call;
    const origin = this.#deps.taskFacts(taskId);
    if (origin === null) throw new Error('a call comes from a task that is not known');
    const facts: DelegationFacts = { id, capsule, version, taskId, ...origin };
    const approval = await approveChild(request, this.#deps, call.signal);
    if (approval.kind === 'refused') {
      call.record(delegationLine(facts, { status: 'refused', detail: approval.sentence }));
      return approval;
    }
    if (approval.kind === 'failed') return failedCall({ facts, child: null, reason: approval.reason }, call);
    const { url, sessionId: session_id } = this.#deps;
    const handle = { url, session_id, context_id: origin.contextId, trust: origin.trust, delegation_id: id };
    const key = approval.mayAsk ? ChildKey.mint(this.#deps.clock) : null;
    const launched = await launchChild({ ...request, ...approval, handle, key, signal: call.signal }, this.#deps);
    switch (launched.kind) {
      case 'failed':
        return failedCall({ facts, child: null, reason: launched.reason }, call);
      case 'canceled':
        this.#recordCanceled(facts, launched);
        throw call.signal.reason;
      case 'ready':
        return await this.#deliver(request.task, { facts, child: launched.child, key }, call);
    }
  }

  async #deliver(
    task: string,
    {
      facts,
      child,
      key,
    }: { readonly facts: DelegationFacts; readonly child: ReadyChild; readonly key: ChildKey | null },
    call: DelegatingCall,
  ): Promise<StartOutcome> {
    const { clock, deadlineMs, telemetry } = this.#deps;
    const { program, door, sessionId, childWorkdir } = child;
    const delegation = this.#open(facts, child, key);
    try {
      const isOver = (): boolean => program.isOver || delegation.isReported;
      const { trust } = facts;
      const { signal } = call;
      const traceparent = telemetry?.traceparent(facts.taskId, facts.id) ?? null;
      const delivered = await deliverTask({
        door,
        delegationId: facts.id,
        task,
        trust,
        traceparent,
        withinMs: deadlineMs,
        isOver,
        clock,
        signal,
      });
      // A child that reported its end has had its task, whatever became of the answer.
      if (delivered.kind === 'undelivered' && !delegation.isReported) {
        delegation.end('failed');
        const how = program.isOver ? ` (${await this.#lastOf(child)})` : '';
        await delegation.over;
        return failedCall({ facts, child, reason: `${delivered.reason}${how}` }, call);
      }
    } catch (error) {
      if (delegation.isReported) delegation.watch();
      else delegation.end('stopped');
      throw error;
    }
    call.record(delegationLine(facts, { status: 'started', child }));
    delegation.watch();
    return { kind: 'started', delegationId: facts.id, sessionId, childWorkdir };
  }

  #open(facts: DelegationFacts, child: ReadyChild, key: ChildKey | null): Delegation {
    const delegation = new Delegation(facts, { child, key }, this.#deps, this.#stopping.signal);
    this.#delegations.set(facts.id, delegation);
    void delegation.over.then(() => this.#delegations.delete(facts.id));
    return delegation;
  }

  async #lastOf({ program }: ReadyChild): Promise<string> {
    return describeEnd(await program.ended, program.lastWords(this.#deps.redact));
  }

  #recordCanceled(facts: DelegationFacts, launched: { readonly directory: string; readonly detail: string }): void {
    const { directory: workdir } = launched;
    const detail = `ended by its parent before it was up; ${launched.detail}`;
    this.#deps.record(delegationLine(facts, { status: 'terminated', detail }));
    const names = { delegation_id: facts.id, capsule_name: facts.capsule, capsule_version: facts.version };
    const none = { session_id: '', duration_ms: 0 };
    recordEnd({ ...names, ...none, status: 'terminated', workdir, detail }, this.#deps);
  }
}

const sessionEnds = 'the session ends';

function failedCall(
  { facts, child, reason }: { facts: DelegationFacts; child: ReadyChild | null; reason: string },
  { record }: DelegatingCall,
): StartOutcome {
  record(delegationLine(facts, { status: 'failed', child, detail: reason }));
  return { kind: 'failed', delegationId: facts.id, sessionId: child?.sessionId ?? null, reason };
}
