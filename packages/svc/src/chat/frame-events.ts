/** What a person is shown of the frames and events of a capsule that runs in another process. */

import { BoundedMap } from '@svc/kit/bounded-map.ts';
import { exactJson } from '@svc/kit/exact-json.ts';
import type { Question, QuestionName } from '@svc/protocol/question.ts';
import type { DecodedArtifact, DecodedChunk, DecodedStatus } from '@svc/protocol/decode-frame.ts';
import { parseJsonText } from '@svc/protocol/json-text.ts';
import type { LiveEvent, LiveTask, Snapshot } from '@svc/protocol/live-events.ts';
import { endedReason } from '../shown/ended-reason.ts';
import type { SessionEvent, ShownInput, ShownResult } from '../shown/session-event.ts';
import { unfenced } from '@svc/terminal/screen/shown.ts';

/** A capsule has no more calls at once; of one that says so, the oldest are forgotten. */
const maxCalls = 64;
/** Tasks whose ends may come twice. */
const maxFollowed = 256;
/** Limit in characters for results that wait for their `call_end`: a longer one is shown by itself. */
const maxHeld = 16 * 1024 * 1024;
const finalStates: ReadonlySet<string> = new Set(['completed', 'failed', 'canceled', 'rejected']);

interface StartedCall extends ShownInput {
  readonly taskId: string;
}

interface NamedCall {
  readonly taskId: string;
  readonly toolName: string;
}

/**
 * Joins the frames of the specification with the events beyond it: a result is shown once both have come. Frames of a time before this
 * connection come without events, and are shown by themselves.
 */
export class FrameEvents {
  readonly #started = new BoundedMap<string, StartedCall>(maxCalls);
  readonly #results = new BoundedMap<string, DecodedArtifact>(maxCalls);
  readonly #refused = new BoundedMap<string, string>(maxCalls);
  /** Tasks whose events come. */
  readonly #followed = new Set<string>();
  /** The question that was shown and waits. */
  #asked: QuestionName | null = null;

  /** Where the session stands as the connection opens: what waits, and what it waits for. */
  begin({ tasks }: Snapshot): readonly SessionEvent[] {
    const live = new Set(tasks.map(({ taskId }) => taskId));
    // Its last frame reports an end that came without a connection.
    for (const taskId of this.#followed) if (!live.has(taskId)) this.#followed.delete(taskId);
    const isOpen = (task: LiveTask): boolean =>
      task.taskId === this.#asked?.taskId && task.question?.waitId === this.#asked.waitId;
    // How it ended meanwhile is not known.
    const over: readonly SessionEvent[] =
      this.#asked === null || tasks.some(isOpen)
        ? []
        : [{ kind: 'question-settled', ...this.#asked, end: 'canceled', answer: null }];
    if (over.length > 0) this.#asked = null;
    return [...over, ...tasks.flatMap((task) => [...this.#begun(task), ...(isOpen(task) ? [] : this.#waiting(task))])];
  }

  /** Gives nothing for a task that has begun before. */
  #begun({ taskId, state, origin, text }: LiveTask): readonly SessionEvent[] {
    if (this.#followed.has(taskId)) return [];
    this.#follow(taskId);
    const waiting = state === 'submitted' ? 1 : 0;
    const said: SessionEvent = { kind: 'said', taskId, text, by: speakerOf(origin), waiting };
    return state === 'submitted' ? [said] : [said, { kind: 'task-started', taskId }];
  }

  #waiting({ question }: LiveTask): readonly SessionEvent[] {
    return question === null ? [] : [this.#question(question)];
  }

  #question({ taskId, waitId, prompt, approval }: Question): SessionEvent {
    this.#asked = { taskId, waitId };
    return { kind: 'question', taskId, waitId, prompt, ...(approval === undefined ? {} : { approval }) };
  }

  ofFrame(frame: DecodedStatus | DecodedArtifact | DecodedChunk): readonly SessionEvent[] {
    switch (frame.event) {
      case 'text':
      case 'thinking':
        return this.#chunk(frame);
      case 'artifact':
        return this.#artifact(frame);
      case 'status':
        return this.#status(frame);
    }
  }

  ofEvent(event: LiveEvent): readonly SessionEvent[] {
    if (event.event === 'snapshot') return this.begin(event);
    const { taskId } = event;
    this.#follow(taskId);
    switch (event.event) {
      case 'task_received': {
        const { origin, text, queued: waiting } = event;
        return [{ kind: 'said', taskId, text, by: speakerOf(origin), waiting }];
      }
      case 'task_started':
        return [{ kind: 'task-started', taskId }];
      case 'waiting_for_model':
        return [{ kind: 'turn', taskId, turn: event.turn }];
      case 'retry':
        return [{ kind: 'retry', reason: event.reason, wait: event.wait }];
      case 'usage':
        return [{ kind: 'usage', tokens: event.inputTokens + event.outputTokens }];
      case 'call_start':
        return this.#callStarted(event);
      case 'output':
        return [{ kind: 'output', callId: event.callId, text: event.text, leftOutBytes: event.leftOut }];
      case 'call_end':
        return this.#callEnded(event);
      case 'refusal':
        this.#refused.set(keyOf(null, { taskId, toolName: event.what }), event.reason);
        return [];
      case 'question':
        return [this.#question(event)];
      case 'question_settled': {
        this.#asked = null;
        const end = event.end === 'answered' || event.end === 'timed-out' ? event.end : 'canceled';
        return [{ kind: 'question-settled', taskId, waitId: event.waitId, end, answer: event.answer }];
      }
      case 'task_settled':
        this.#followed.delete(taskId);
        this.#forget(taskId);
        if (this.#asked?.taskId === taskId) this.#asked = null;
        return [{ kind: 'task-ended', taskId, state: event.state, reason: event.reason }];
    }
  }

  #follow(taskId: string): void {
    if (this.#followed.size < maxFollowed) this.#followed.add(taskId);
  }

  /** A call that a cancel cut off has no `call_end`. */
  #forget(taskId: string): void {
    for (const [key, call] of this.#started) {
      if (call.taskId !== taskId) continue;
      this.#started.delete(key);
      this.#results.delete(key);
    }
  }

  #chunk({ event: kind, taskId, text, final }: DecodedChunk): readonly SessionEvent[] {
    const shown: SessionEvent = { kind, taskId, text };
    return final ? [shown, { kind: 'text-ended' }] : [shown];
  }

  #artifact(frame: DecodedArtifact): readonly SessionEvent[] {
    const key = keyOf(frame.toolCallId, frame);
    const held = [...this.#results].reduce((sum, [, { content }]) => sum + content.length, frame.content.length);
    if (this.#started.get(key) !== undefined && held <= maxHeld) {
      this.#results.set(key, frame);
      return [];
    }
    return [{ kind: 'result', result: resultOf(frame, null) }];
  }

  #callStarted(event: Extract<LiveEvent, { event: 'call_start' }>): readonly SessionEvent[] {
    const { taskId, callId, toolName: name, arguments: given, argumentsText } = event;
    const shown = argumentsText === null ? { input: given } : inputOf(argumentsText);
    this.#started.set(keyOf(callId, event), { taskId, ...shown });
    return [{ kind: 'call', callId, name, ...shown }];
  }

  #callEnded(event: Extract<LiveEvent, { event: 'call_end' }>): readonly SessionEvent[] {
    const { callId, toolName: name, exitCode, isError, denied: isRefused, durationMs, step } = event;
    const key = keyOf(callId, event);
    const frame = this.#results.take(key);
    const started = this.#started.take(key);
    const { input, digits }: ShownInput = started ?? { input: undefined };
    if (frame !== undefined) return [{ kind: 'result', result: { ...resultOf(frame, step), input, digits } }];
    // The frame of a call without a begin event has been shown by itself.
    if (started === undefined && !isRefused) return [];
    const content = this.#refused.take(keyOf(null, event)) ?? '';
    const ended = {
      callId,
      name,
      input,
      digits,
      content,
      exitCode,
      isCut: false,
      isError,
      isRefused,
      durationMs,
      step,
    };
    return [{ kind: 'result', result: ended }];
  }

  #status(frame: DecodedStatus): readonly SessionEvent[] {
    const { taskId, state, final } = frame;
    if (this.#followed.has(taskId) || !final || !finalStates.has(state)) return [];
    return [{ kind: 'task-ended', taskId, state, reason: state === 'completed' ? null : endedReason(frame) }];
  }
}

/** Who said what a task of that origin was given. */
export function speakerOf(origin: string): Extract<SessionEvent, { readonly kind: 'said' }>['by'] {
  return origin === 'peer' || origin === 'completion' ? origin : 'user';
}

/** A text that is whole has numbers that JavaScript rounds; any other is the beginning of one. */
function inputOf(argumentsText: string): ShownInput {
  const exact = parseJsonText(argumentsText).kind === 'json' ? exactJson(argumentsText) : null;
  return exact === null ? { input: argumentsText } : { input: exact.value, digits: exact.digits };
}

function resultOf(frame: DecodedArtifact, step: number | null): ShownResult {
  const { toolName: name, toolCallId: callId, exitCode, truncated: isCut, isError, durationMs } = frame;
  const content = unfenced(frame.content, frame.fenceSource);
  return { callId, name, input: undefined, content, exitCode, isCut, isError, isRefused: false, durationMs, step };
}

/** A provider need not name its calls: those of one tool come one after the other then. */
function keyOf(callId: string | null, { taskId, toolName }: NamedCall): string {
  return callId === null ? `of ${taskId} ${toolName}` : `id ${callId}`;
}
