/** Sends what happens in a session beyond its frames to those who asked for it, from its activity. */

import { toUSVString } from 'node:util';

import { type Clock, elapsedMs } from '@svc/kit/clock.ts';
import { withDigits } from '@svc/kit/exact-json.ts';
import type { Question } from '@svc/protocol/question.ts';
import { maxFrameValues } from '@svc/protocol/decode-frame.ts';
import { fittingLength } from '@svc/protocol/json-length.ts';
import { parseJsonText } from '@svc/protocol/json-text.ts';
import {
  encodeLiveEvent,
  type LiveEvent,
  type LiveTask,
  type RetryWaiting,
  type TokenCount,
} from '@svc/protocol/live-events.ts';
import { redactedJson } from '@svc/record/trace/file-trace.ts';
import type { Usage } from './model/driver-notes.ts';
import type { Activity, SessionActivity } from './task/activity.ts';
import type { Answerer, EventStream } from './stream/event-stream.ts';
import type { FrameSink, SentFrame } from './stream/frame-batches.ts';
import { type OutputPiece, OutputTails } from './stream/output-tails.ts';
import type { Task } from './task/task.ts';
import type { TaskBoard } from './loop/task-board.ts';
import type { RequestedCall } from './tools/tool.ts';

/** What the events are made from. */
interface LiveSession {
  readonly id: string;
  readonly events: Pick<EventStream, 'tell' | 'subscribeWithEvents'>;
  readonly board: Pick<TaskBoard, 'live' | 'before'>;
  readonly skills: { readonly names: readonly string[] };
  readonly activity: SessionActivity;
  readonly clock: Pick<Clock, 'monotonicMs' | 'after'>;
  readonly model: string;
  /** Tokens so far. */
  readonly used: Usage;
}

/** What a snapshot says of the capsule, and what keeps secrets out of all events. */
export interface LiveEventsOptions {
  readonly name: string;
  readonly version: string;
  /** The class that was achieved. */
  readonly containment: string;
  readonly methods: readonly string[];
  readonly redact: (text: string) => string;
}

/** Limit for a task's text, a question and the prompt of a snapshot, as JSON in UTF-8. */
const maxText = 64 * 1024;
/** Limit for the arguments of a call, as JSON; longer ones are cut. */
const maxArguments = 16 * 1024;
/** Limit for a reason. */
const maxReason = 4096;
/** Limit for a name and a principal. */
const maxName = 1024;
/** In characters: as readers take it of the frame of the same call. A part of a longer one would name another call. */
const maxCallId = 1024;
/** Characters of a task's text in a snapshot. */
const maxStart = 200;
const maxSnapshotTasks = 100;
/** A client reads no deeper JSON, and the data of an event is around it. */
const deepestArguments = 400;
/** Longer than any secret or peer handle, however it is spelt: what is cut off before it is searched for them may begin with the rest of one. */
const maxSecret = 512 * 1024;

/**
 * The live events of one session. It listens to the activity as long as anybody reads them, and what nobody reads is never encoded. A reader hears of
 * each thing right behind the frames that were written of it.
 */
export class LiveEvents {
  readonly #session: LiveSession;
  readonly #options: LiveEventsOptions;
  readonly #readers = new Set<FrameSink>();
  /** How the texts of waiting tasks begin: each is searched for secrets once. */
  readonly #starts = new WeakMap<Task, string>();
  #leave: () => void = () => {};
  /** A repetition was announced as its wait began, and has not come yet. */
  #toldRetry = false;

  constructor(session: LiveSession, options: LiveEventsOptions) {
    this.#session = session;
    this.#options = options;
  }

  /** Adds a reader of frames and events, who could answer calls by `answers`, and ends with `part`. In the turn of `snapshot`, so that nothing happens between the two. */
  join(reader: FrameSink, answers: Answerer | null): void {
    if (this.#readers.size === 0) {
      this.#leave = this.#listen();
    }
    this.#readers.add(reader);
    this.#session.events.subscribeWithEvents(reader, answers);
  }

  #listen(): () => void {
    const { activity, clock, events } = this.#session;
    const leave = activity.subscribe((told) => this.#hear(told));
    const { redact } = this.#options;
    const tell = (piece: OutputPiece): void => events.tell(new UnnumberedFrame(encodeLiveEvent(this.#output(piece))));
    const tails = new OutputTails({ clock, redact, tell });
    const leaveOutput = activity.hearOutput(tails);
    return () => {
      leave();
      leaveOutput();
      tails.close();
    };
  }

  /** Does nothing for who is no reader. */
  part(reader: FrameSink): void {
    if (this.#readers.delete(reader) && this.#readers.size === 0) this.#leave();
  }

  /** Where the session stands. */
  snapshot(): string {
    const { id, model, used, board, skills } = this.#session;
    const { name, version, containment, methods } = this.#options;
    const live = board.live();
    return encodeLiveEvent({
      event: 'snapshot',
      sessionId: id,
      name,
      version,
      model: this.#name(model),
      containment,
      methods,
      usage: used,
      tasks: live.slice(0, maxSnapshotTasks).map((task) => this.#liveTask(task)),
      tasksLeftOut: Math.max(0, live.length - maxSnapshotTasks),
      ...(skills.names.length === 0 ? {} : { skills: skills.names }),
    });
  }

  #liveTask(task: Task): LiveTask {
    const { id: taskId, reportedState: state, origin, inputWait, offered } = task;
    const start = this.#starts.get(task) ?? startOf(this.#shown(task.text, maxText).text);
    this.#starts.set(task, start);
    const waiting = inputWait?.question ?? offered;
    const question = waiting === null ? null : this.#shownQuestion(waiting);
    return { taskId, contextId: this.#contextOf(task), state, origin, text: start, question };
  }

  /** The effect of an approval has no secrets, and a bound of its own. */
  #shownQuestion({ prompt, ...asked }: Question): Question {
    return { ...asked, prompt: this.#shown(prompt, maxText).text };
  }

  #hear(activity: Activity): void {
    for (const event of this.#eventsOf(activity)) {
      this.#session.events.tell(new UnnumberedFrame(encodeLiveEvent(event)));
    }
  }

  #eventsOf(activity: Activity): readonly LiveEvent[] {
    switch (activity.kind) {
      case 'task-submitted':
        return [this.#received(activity.task)];
      case 'attempt-started':
        return [{ event: 'task_started', taskId: activity.task.id, attempt: activity.attempt }];
      case 'inference-started':
        return [{ event: 'waiting_for_model', taskId: activity.task.id, turn: activity.turn }];
      case 'retry-waits':
        return [this.#retry(activity, activity.why.reason, { status: activity.why.status, ...activity.wait })];
      case 'retried':
        return this.#isRetryTold() ? [] : [this.#retry(activity, activity.reason, null)];
      case 'inference-ended':
        this.#toldRetry = false;
        return this.#usage(activity);
      case 'call-started':
        return [this.#callStart(activity)];
      case 'call-ended':
        return this.#callEnd(activity);
      case 'question':
        return activity.task.offered === null ? [this.#question(activity.question)] : [];
      case 'question-offered':
        return [this.#question(activity.question)];
      case 'offer-over': {
        const { question, answer } = activity;
        const { taskId, waitId } = question;
        return [{ event: 'question_settled', taskId, waitId, end: answer === null ? 'canceled' : 'answered', answer }];
      }
      case 'question-settled': {
        const { question, end } = activity;
        const answer = activity.answer === null ? null : this.#shown(activity.answer, maxText).text;
        return [{ event: 'question_settled', taskId: question.taskId, waitId: question.waitId, end, answer }];
      }
      case 'task-settled':
        return [this.#settled(activity.task)];
      case 'call-judged':
      case 'file-refused':
      case 'state-changed':
      case 'text':
      case 'thinking':
      case 'inference-left':
      case 'whole-reply':
      case 'hook-artifact':
      case 'spend-refused':
      case 'task-canceled':
      case 'attempt-ended':
      case 'task-reopened':
      case 'noted':
        return [];
    }
  }

  #question(question: Question): LiveEvent {
    return { event: 'question', ...this.#shownQuestion(question) };
  }

  #received(task: Task): LiveEvent {
    const { id: taskId, origin, sender } = task;
    const { text, isCut: textCut } = this.#shown(task.text, maxText);
    const principal = sender === null ? null : this.#name(sender.principal);
    const queued = this.#session.board.before(task);
    const contextId = this.#contextOf(task);
    return { event: 'task_received', taskId, contextId, origin, principal, text, textCut, queued };
  }

  #retry(
    { task, turn }: { readonly task: Task; readonly turn: number },
    why: string,
    wait: RetryWaiting | null,
  ): LiveEvent {
    const reason = this.#shown(why, maxReason).text;
    this.#toldRetry = wait !== null;
    return { event: 'retry', taskId: task.id, turn, reason, wait };
  }

  /** Whether the one that comes now was announced as its wait began. */
  #isRetryTold(): boolean {
    const isTold = this.#toldRetry;
    this.#toldRetry = false;
    return isTold;
  }

  #usage({ task, turn, request, outcome, durationMs }: Extract<Activity, { kind: 'inference-ended' }>): LiveEvent[] {
    if (outcome.kind !== 'response') return [];
    const { inputTokens, outputTokens } = outcome.usage;
    const total: TokenCount = this.#session.used;
    const model = this.#name(request.model);
    return [{ event: 'usage', taskId: task.id, turn, model, inputTokens, outputTokens, durationMs, total }];
  }

  #callStart({ task, turn, call }: Extract<Activity, { kind: 'call-started' }>): LiveEvent {
    const callId = this.#callId(call.id);
    const given = this.#arguments(call);
    return { event: 'call_start', taskId: task.id, turn, callId, toolName: this.#name(call.name), ...given };
  }

  #output({ call: { task, turn, callId }, commandName, text, leftOutBytes: leftOut }: OutputPiece): LiveEvent {
    const id = this.#callId(callId ?? '');
    return { event: 'output', taskId: task.id, turn, callId: id, toolName: this.#name(commandName), text, leftOut };
  }

  #callEnd({ task, turn, call, step }: Extract<Activity, { kind: 'call-ended' }>): LiveEvent[] {
    const { exitCode, isError, denied, durationMs } = call;
    const taskId = task.id;
    const toolName = this.#name(call.toolName);
    const callId = this.#callId(call.callId ?? '');
    const ended = { taskId, turn, callId, toolName, exitCode, isError, denied, durationMs, step };
    const reason = denied ? this.#shown(call.unfenced, maxReason).text : '';
    const refusal = { event: 'refusal', taskId, what: toolName, reason } as const;
    return [...(denied ? [refusal] : []), { event: 'call_end', ...ended }];
  }

  #settled(task: Task): LiveEvent {
    const { id: taskId, state, failure, statusMessage, turns, usage, startedMs } = task;
    const why = state === 'failed' ? (failure ?? statusMessage) : null;
    const reason = why === null ? null : this.#shown(why, maxReason).text;
    const durationMs = startedMs === null ? 0 : elapsedMs(this.#session.clock, startedMs);
    return { event: 'task_settled', taskId, state, reason, turns, usage, durationMs };
  }

  /** As the trace has them, unless they are too long, nest too deep for every reader or have a number that readers would round. */
  #arguments({
    input,
    digits,
  }: Pick<RequestedCall, 'input' | 'digits'>): Pick<
    Extract<LiveEvent, { event: 'call_start' }>,
    'arguments' | 'argumentsText'
  > {
    // A value that JSON does not have becomes null.
    const encoded = withDigits(input, digits) ?? 'null';
    const isShort = Buffer.byteLength(encoded) <= maxArguments;
    if (digits !== undefined || !isShort || parseJsonText(encoded, maxFrameValues, deepestArguments).kind !== 'json') {
      return { arguments: null, argumentsText: this.#shown(encoded, maxArguments).text };
    }
    const { redact } = this.#options;
    return { arguments: redact(encoded) === encoded ? input : redactedJson(input, redact), argumentsText: null };
  }

  #callId(id: string): string | null {
    return id === '' || id.length > maxCallId ? null : toUSVString(this.#options.redact(id));
  }

  /** Redacts and cuts an id that a client chose. */
  #contextOf({ contextId }: Task): string {
    return /^ctx_[0-9a-f]{32}$/.test(contextId) ? contextId : this.#name(contextId);
  }

  #name(name: string): string {
    return this.#shown(name, maxName).text;
  }

  /** The beginning of a text that takes at most `maxBytes` as JSON, without secrets. */
  #shown(text: string, maxBytes: number): { readonly text: string; readonly isCut: boolean } {
    const head = text.slice(0, maxBytes + maxSecret);
    const redacted = toUSVString(this.#options.redact(head));
    const certain = head.length === text.length ? redacted.length : Math.max(0, redacted.length - maxSecret);
    const length = Math.min(certain, fittingLength(redacted, maxBytes));
    if (length === redacted.length) return { text: redacted, isCut: head.length < text.length };
    return { text: toUSVString(redacted.slice(0, length)), isCut: true };
  }
}

function startOf(text: string): string {
  const start = text.slice(0, maxStart);
  return start.isWellFormed() ? start : start.slice(0, -1);
}

/** A frame of no task's counter. It is short, so it stays in memory as long as a reader has yet to get it. */
class UnnumberedFrame implements SentFrame {
  readonly id = null;
  readonly taskId = null;
  readonly final = false;
  readonly isStored = false;
  readonly storedLength = 0;
  readonly text: string;
  #bytes: Buffer | null = null;

  constructor(text: string) {
    this.text = text;
  }

  get bytes(): Buffer {
    this.#bytes ??= Buffer.from(this.text);
    return this.#bytes;
  }

  read(): null {
    return null;
  }

  retain(): void {}

  release(): void {}
}
