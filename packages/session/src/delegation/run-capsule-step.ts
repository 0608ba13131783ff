/** Runs one step of a plan in a child capsule. */

import { printable } from '@svc/kit/diagnostics/printable.ts';
import { type Clock, pause } from '@svc/kit/clock.ts';
import { type DelegationId, mintDelegationId } from '@svc/protocol/ids.ts';
import { decodeTask, type TaskFacts } from '@svc/protocol/task-object.ts';
import { type CapsuleStep, nothingRan, type StepOutcome } from '../tools/plan/capsule-step.ts';
import type { ToolCallContext } from '../tools/tool.ts';
import { approveChild, releaseSlot } from './approve-child.ts';
import { callCapsule, deliverTask } from './capsule-call.ts';
import { describeEnd } from './child-process.ts';
import { delegationLine } from './delegation.ts';
import type { DelegationsDeps } from './delegations-deps.ts';
import { launchChild, type ReadyChild, shortGraceMs } from './launch-child.ts';

type StepCall = Pick<ToolCallContext, 'taskId' | 'signal' | 'record'>;

const stopTimeoutMs = 2000;

/**
 * A `capsule` step (docs/adr/delegation.md "A capsule step reports to nobody"): starts the capsule as a child that reports to nobody, gives it the task,
 * reads the answer with `tasks/get` and ends it (D2 "Events" 8). Expected failures are outcomes. Rejects with the signal's reason once nothing of it runs.
 */
export async function runCapsuleStep(
  { id: stepId, capsule, version, task }: CapsuleStep,
  call: StepCall,
  deps: DelegationsDeps,
): Promise<StepOutcome> {
  const { taskId, signal } = call;
  const facts = { id: mintDelegationId(deps.clock), capsule, version, taskId, stepId };
  const failed = (status: 'failed' | 'refused', outcome: StepOutcome): StepOutcome => {
    call.record(delegationLine(facts, { status, detail: outcome.content }));
    return outcome;
  };
  const approval = await approveChild({ capsule, version }, deps, signal);
  if (approval.kind === 'refused') return failed('refused', nothingRan(approval.sentence));
  if (approval.kind === 'failed') return failed('failed', nothingRan(approval.reason));
  const launched = await launchChild({ capsule, version, ...approval, handle: null, key: null, signal }, deps);
  if (launched.kind === 'canceled') throw signal.reason;
  if (launched.kind === 'failed') return failed('failed', failedStep(launched.reason));
  const { child } = launched;
  try {
    const held = await giveTask({ task, delegationId: facts.id }, child, { call, deps });
    if (held.kind === 'undelivered') return failed('failed', failedStep(held.reason));
    call.record(delegationLine(facts, { status: 'started', child }));
    const answer = await awaitAnswer(held.taskId, child, { deadlineMs: deps.deadlineMs, clock: deps.clock, signal });
    return answer.kind === 'answered'
      ? passedStep(capsule, answer.text)
      : await stepWithoutAnswer(answer.reason, child, deps);
  } finally {
    await endChild(child, deps, signal);
  }
}

async function giveTask(
  { task, delegationId }: { readonly task: string; readonly delegationId: DelegationId },
  { program, door }: ReadyChild,
  { call, deps }: { readonly call: StepCall; readonly deps: DelegationsDeps },
): ReturnType<typeof deliverTask> {
  const trust = deps.taskFacts(call.taskId)?.trust ?? 'untrusted';
  const { clock, deadlineMs: withinMs } = deps;
  const traceparent = deps.telemetry?.traceparent(call.taskId, delegationId) ?? null;
  const isOver = (): boolean => program.isOver;
  const delivery = { door, delegationId, task, trust, traceparent, withinMs, isOver, clock };
  return await deliverTask({ ...delivery, signal: call.signal });
}

/** Asks the session to stop before its process is asked to; a child that does not listen any more is just ended. */
async function endChild(child: ReadyChild, deps: DelegationsDeps, signal: AbortSignal): Promise<void> {
  const { program, door } = child;
  if (!program.isOver && !signal.aborted) {
    await callCapsule(door, { method: 'session/stop', params: {}, timeoutMs: stopTimeoutMs });
  }
  await program.end(signal.aborted ? shortGraceMs : deps.childGraceMs);
  // A child that ended in order has released its slot itself, and is not known any more.
  await releaseSlot(child.sessionId, deps);
}

async function stepWithoutAnswer(
  reason: string,
  { program }: ReadyChild,
  { redact }: DelegationsDeps,
): Promise<StepOutcome> {
  const words = redact(printable(reason));
  if (!program.isOver) return failedStep(words);
  return failedStep(`${words} (${describeEnd(await program.ended, program.lastWords(redact))})`);
}

function passedStep(capsule: string, text: string): StepOutcome {
  return { ...reached(capsule), status: 'passed', content: text, output: text };
}

/** Something of a capsule ran, and another attempt may end differently. */
function failedStep(reason: string): StepOutcome {
  return { ...reached(null), status: 'failed', content: reason, output: '', retryable: true };
}

function reached(capsule: string | null): Omit<StepOutcome, 'status' | 'content' | 'output'> {
  // The answer of another capsule is a stranger's text, as that of a tool is.
  const fenceSource = capsule === null ? null : `tool:${capsule}`;
  return { reached: true, fenceSource, cut: false, exitCode: null, retryable: false };
}

type Answer =
  | { readonly kind: 'answered'; readonly text: string }
  /** `reason` is a clause for a person, with words of the child in it. */
  | { readonly kind: 'unanswered'; readonly reason: string };

interface AnswerWait {
  /** Counts from when the child was ready. */
  readonly deadlineMs: number;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

const firstPauseMs = 50;
const maxPauseMs = 1000;
const callTimeoutMs = 10_000;

/** Asks for the task until it has ended. Rejects with the signal's reason. */
async function awaitAnswer(
  taskId: string,
  { door, program, readyMs }: ReadyChild,
  { deadlineMs, clock, signal }: AnswerWait,
): Promise<Answer> {
  const call = { method: 'tasks/get', params: { id: taskId }, timeoutMs: callTimeoutMs, signal };
  for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(pauseMs * 2, maxPauseMs)) {
    // Its port is nobody's any more: another program may listen there, and would be shown the token and believed.
    if (program.isOver) return unanswered(goneReason);
    const told = await callCapsule(door, call);
    if (told.kind === 'error') return unanswered(`it does not say what became of its task: ${told.message}`);
    const task = told.kind === 'result' ? decodeTask(told.result) : null;
    if (told.kind === 'result' && task === null) return unanswered('what it says of its task is not a task');
    const answer = task === null ? null : answerOf(task);
    if (answer !== null) return answer;
    if (clock.monotonicMs() - readyMs >= deadlineMs) return unanswered(`still running after ${deadlineMs / 1000} s`);
    await pause(clock, pauseMs, signal);
  }
}

const goneReason =
  'it ended before its answer was read: a capsule of a step declares lifecycle.task_acceptance: queue and after_task: sleep';

/** Returns null while the task may still come to something. */
function answerOf(task: TaskFacts): Answer | null {
  const why = task.message === null ? '' : `: ${task.message}`;
  switch (task.state) {
    case 'completed':
      return { kind: 'answered', text: task.response ?? '' };
    case 'failed':
    case 'canceled':
    case 'rejected':
      return unanswered(`its task is ${task.state}${why}`);
    case 'input-required':
      return unanswered(`it asks for input, which nobody gives in a plan: ${task.prompt ?? ''}`);
    default:
      return null;
  }
}

function unanswered(reason: string): Answer {
  return { kind: 'unanswered', reason };
}
