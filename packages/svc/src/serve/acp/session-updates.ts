/** Turns the activity of a session into updates for its editor. */

import { shortened } from '@svc/kit/diagnostics/printable.ts';
import type { TraceEvent } from '@svc/record/trace/events.ts';
import type { Activity } from '@svc/session/task/activity.ts';
import type { Task } from '@svc/session/task/task.ts';
import type { FileChange, RequestedCall } from '@svc/session/tools/tool.ts';
import { planLimits, submittedPlan } from '@svc/session/tools/plan/plan.ts';
import { callEnded, callStarted, type CalledTools } from './call-updates.ts';
import type { TurnEnd } from './channel.ts';
import { type AcpUpdate, textBlock, type PlanEntry } from './updates.ts';

/** What the model's context holds, where the manifest says it. */
export interface ShownSession extends CalledTools {
  readonly contextTokens: number | null;
}

/** Characters of one update: a model may say a whole answer at once. */
const maxChunk = 256 * 1024;
/** Limit for the error that a prompt ends with: the whole of why its task failed is said before it, in pieces. */
const maxWhy = 4 * 1024;
/** Limit for the files that one call has changed, before and after together: a plan may change many. */
const maxChanged = 2.5 * 1024 * 1024;

/** One task runs at a time, and its calls one after the other. */
export class SessionUpdates {
  readonly #session: ShownSession;
  readonly #send: (update: AcpUpdate) => void;
  #turn = 0;
  #calls = 0;
  /** The call that runs. */
  #call: { readonly id: string; readonly changes: FileChange[]; bytes: number } | null = null;
  #plan: ShownPlan | null = null;
  /** Whether the last answer was cut off. */
  #isCutOff = false;
  #usedUpTurns = false;
  /** The first half of a character, whose second half may be on its way. */
  #half = '';

  constructor(session: ShownSession, send: (update: AcpUpdate) => void) {
    this.#session = session;
    this.#send = send;
  }

  note(activity: Activity): void {
    switch (activity.kind) {
      case 'inference-started':
        this.#turn = activity.turn;
        this.#half = '';
        return;
      case 'text':
      case 'whole-reply':
        return this.#chunk('agent_message_chunk', activity.task, activity.text);
      case 'thinking':
        return this.#chunk('agent_thought_chunk', activity.task, activity.text);
      case 'inference-ended':
        return this.#inferenceEnded(activity);
      case 'call-started':
        return this.#callStarted(activity);
      case 'call-ended': {
        const call = this.#call;
        this.#call = null;
        return call === null ? undefined : this.#send(callEnded(call.id, activity.call, call.changes));
      }
      case 'state-changed':
        this.#usedUpTurns = activity.event.kind === 'turns-exhausted';
        return;
      case 'hook-artifact': {
        const { hookName, content } = activity.artifact;
        return this.say(`${activity.task.id}/${hookName}`, `\n${content}`);
      }
      case 'noted':
        if (activity.event.event_type !== 'plan_step' || this.#plan === null) return;
        this.#plan.ended(activity.event);
        return this.#send(this.#plan.update());
      case 'attempt-started':
        this.#turn = 0;
        this.#isCutOff = false;
        this.#usedUpTurns = false;
        return;
      case 'task-submitted':
      case 'inference-left':
      case 'retry-waits':
      case 'retried':
      case 'call-judged':
      case 'file-refused':
      case 'question':
      case 'question-offered':
      case 'offer-over':
      case 'question-settled':
      case 'spend-refused':
      case 'task-canceled':
      case 'attempt-ended':
      case 'task-reopened':
      case 'task-settled':
        return;
    }
  }

  changed(change: FileChange): void {
    const call = this.#call;
    if (call === null) return;
    call.bytes += (change.before?.bytes?.length ?? 0) + (change.after?.bytes?.length ?? 0);
    if (call.bytes <= maxChanged) call.changes.push(change);
  }

  /** What the turn of a task came to that is over. A call that was cut off has failed. */
  ended({ id, state, failure, statusMessage }: Task): TurnEnd {
    if (this.#call !== null) {
      this.#send({ sessionUpdate: 'tool_call_update', toolCallId: this.#call.id, status: 'failed' });
      this.#call = null;
    }
    this.#plan = null;
    if (state === 'canceled') return { kind: 'end', reason: 'cancelled' };
    if (state === 'completed') return { kind: 'end', reason: this.#isCutOff ? 'max_tokens' : 'end_turn' };
    const why = failure ?? statusMessage ?? 'the task failed';
    this.say(`${id}/failure`, `\n${why}`);
    return this.#usedUpTurns
      ? { kind: 'end', reason: 'max_turn_requests' }
      : { kind: 'failed', why: shortened(why, maxWhy) };
  }

  #inferenceEnded({ outcome }: Extract<Activity, { readonly kind: 'inference-ended' }>): void {
    if (outcome.kind !== 'response') return;
    this.#isCutOff = outcome.response.stopReason === 'max_tokens';
    const { contextTokens: size } = this.#session;
    if (size === null) return;
    const { inputTokens, outputTokens } = outcome.usage;
    this.#send({ sessionUpdate: 'usage_update', used: inputTokens + outputTokens, size });
  }

  #callStarted({ task, call }: Extract<Activity, { readonly kind: 'call-started' }>): void {
    this.#calls += 1;
    const id = `${task.id}-${this.#calls}`;
    this.#call = { id, changes: [], bytes: 0 };
    this.#send(callStarted(id, call, this.#session));
    this.#send({ sessionUpdate: 'tool_call_update', toolCallId: id, status: 'in_progress' });
    const plan = ShownPlan.of(call);
    if (plan === null) return;
    this.#plan = plan;
    this.#send(plan.update());
  }

  #chunk(sessionUpdate: 'agent_message_chunk' | 'agent_thought_chunk', task: Task, text: string): void {
    const read = this.#half + text;
    this.#half = /[\uD800-\uDBFF]$/.test(read) ? read.slice(-1) : '';
    const whole = read.slice(0, read.length - this.#half.length);
    const messageId = `${task.id}/${task.attempts}/${this.#turn}`;
    for (const piece of piecesOf(whole)) this.#send({ sessionUpdate, content: textBlock(piece), messageId });
  }

  say(messageId: string, text: string): void {
    for (const piece of piecesOf(text)) {
      this.#send({ sessionUpdate: 'agent_message_chunk', content: textBlock(piece), messageId });
    }
  }
}

/** Cuts a text into pieces, but never within a character. */
function* piecesOf(text: string): Generator<string, void> {
  for (let from = 0; from < text.length;) {
    const end = from + maxChunk;
    const splits = end < text.length && /[\uD800-\uDBFF]/.test(text.charAt(end - 1));
    const to = splits ? end - 1 : end;
    yield text.slice(from, to);
    from = to;
  }
}

const maxStep = 300;

type EndedStep = Extract<TraceEvent, { readonly event_type: 'plan_step' }>;

/** One plan, an entry a step. The protocol knows no step that failed: that is written behind it. */
class ShownPlan {
  readonly #entries: Map<string, PlanEntry>;

  private constructor(entries: Map<string, PlanEntry>) {
    this.#entries = entries;
  }

  /** Returns null for a call that submits no plan, or none that can be read. */
  static of({ name, input }: RequestedCall): ShownPlan | null {
    if (name !== 'submit-plan') return null;
    const { data } = submittedPlan.safeParse(input);
    if (data === undefined || data.steps.length > planLimits.steps) return null;
    const entries = data.steps.map(({ id, tool, shell, capsule }): [string, PlanEntry] => {
      const content = shortened(`${id}: ${tool ?? shell ?? capsule ?? ''}`, maxStep).toWellFormed();
      return [id, { content, priority: 'medium', status: 'pending' }];
    });
    return new ShownPlan(new Map(entries));
  }

  ended({ step_id: id, outcome }: EndedStep): void {
    const entry = this.#entries.get(id);
    if (entry === undefined) return;
    const content = outcome === 'passed' ? entry.content : `${entry.content} (${outcome})`;
    this.#entries.set(id, { ...entry, content, status: 'completed' });
  }

  update(): AcpUpdate {
    return { sessionUpdate: 'plan', entries: [...this.#entries.values()] };
  }
}
