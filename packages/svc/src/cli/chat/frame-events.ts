/** What a person is shown of the frames and events of a capsule that runs in another process. */

import type { DecodedArtifact, DecodedChunk, DecodedStatus } from '@svc/protocol/decode-frame.ts';
import type { LiveEvent, Snapshot } from '@svc/protocol/live-events.ts';
import type { SessionEvent, ShownResult } from '../session-view/session-event.ts';
import { unfenced } from '../terminal/shown.ts';

/** A capsule can have no more calls at once than it can hold. */
const mostCalls = 256;
const finalStates: ReadonlySet<string> = new Set(['completed', 'failed', 'canceled', 'rejected']);

interface StartedCall {
  readonly name: string;
  readonly input: unknown;
}

/**
 * Puts the frames of the specification and the events beyond it together: a result is shown once both have told of it. Frames of a time before this
 * connection come without events, and are shown by themselves.
 */
export class FrameEvents {
  readonly #started = new Map<string, StartedCall>();
  readonly #results = new Map<string, DecodedArtifact>();
  readonly #refused = new Map<string, string>();
  /** Tasks whose events come. */
  readonly #followed = new Set<string>();

  /** Where the session stands as the connection opens: what waits, and what it waits for. */
  begin({ tasks }: Snapshot): readonly SessionEvent[] {
    const live = new Set(tasks.map(({ taskId }) => taskId));
    // What ended while there was no connection is told by its last frame.
    for (const taskId of this.#followed) if (!live.has(taskId)) this.#followed.delete(taskId);
    return tasks.flatMap(({ taskId, state, text, question }): readonly SessionEvent[] => {
      if (this.#followed.has(taskId)) return [];
      this.#follow(taskId);
      const said: SessionEvent = { kind: 'said', taskId, text, by: 'user', waiting: state === 'submitted' ? 1 : 0 };
      if (state === 'submitted') return [said];
      const started: SessionEvent = { kind: 'task-started', taskId };
      if (question === null) return [said, started];
      const { waitId: questionId, prompt } = question;
      return [said, started, { kind: 'question', taskId, questionId, prompt }];
    });
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
        const by = origin === 'peer' || origin === 'completion' ? origin : 'user';
        return [{ kind: 'said', taskId, text, by, waiting }];
      }
      case 'task_started':
        return [{ kind: 'task-started', taskId }];
      case 'waiting_for_model':
        return [{ kind: 'turn', taskId, turn: event.turn }];
      case 'retry':
        return [{ kind: 'retry', reason: event.reason }];
      case 'usage':
        return [{ kind: 'usage', tokens: event.inputTokens + event.outputTokens }];
      case 'call_start':
        return this.#callStarted(event);
      case 'call_end':
        return this.#callEnded(event);
      case 'refusal':
        this.#refused.set(event.what, event.reason);
        return [];
      case 'question':
        return [{ kind: 'question', taskId, questionId: event.waitId, prompt: event.prompt }];
      case 'question_settled': {
        const end = event.end === 'answered' || event.end === 'timed-out' ? event.end : 'canceled';
        return [{ kind: 'question-settled', taskId, questionId: event.waitId, end }];
      }
      case 'task_settled':
        this.#followed.delete(taskId);
        return [{ kind: 'task-ended', taskId, state: event.state, reason: event.reason }];
    }
  }

  #follow(taskId: string): void {
    if (this.#followed.size < mostCalls) this.#followed.add(taskId);
  }

  #chunk({ event: kind, taskId, text, final }: DecodedChunk): readonly SessionEvent[] {
    const shown: SessionEvent = { kind, taskId, text };
    return final ? [shown, { kind: 'text-ended' }] : [shown];
  }

  #artifact(frame: DecodedArtifact): readonly SessionEvent[] {
    const { toolCallId } = frame;
    if (toolCallId !== null && this.#started.has(toolCallId) && this.#results.size < mostCalls) {
      this.#results.set(toolCallId, frame);
      return [];
    }
    return [{ kind: 'result', result: resultOf(frame, null) }];
  }

  #callStarted(event: Extract<LiveEvent, { event: 'call_start' }>): readonly SessionEvent[] {
    const { callId, toolName: name, arguments: given, argumentsText } = event;
    const input = argumentsText ?? given;
    if (callId !== null && this.#started.size < mostCalls) this.#started.set(callId, { name, input });
    return [{ kind: 'call', callId, name, input }];
  }

  #callEnded(event: Extract<LiveEvent, { event: 'call_end' }>): readonly SessionEvent[] {
    const { callId, toolName: name, exitCode, isError, denied: isRefused, durationMs, step } = event;
    const frame = callId === null ? undefined : this.#results.get(callId);
    const input = callId === null ? undefined : this.#started.get(callId)?.input;
    if (callId !== null) {
      this.#results.delete(callId);
      this.#started.delete(callId);
    }
    if (frame !== undefined) return [{ kind: 'result', result: { ...resultOf(frame, step), input } }];
    // The frame of a call without an id has been shown by itself.
    if (callId === null && !isRefused) return [];
    const content = this.#refused.get(name) ?? '';
    this.#refused.delete(name);
    return [
      { kind: 'result', result: { callId, name, input, content, exitCode, isError, isRefused, durationMs, step } },
    ];
  }

  #status({ taskId, state, message, final }: DecodedStatus): readonly SessionEvent[] {
    if (this.#followed.has(taskId) || !final || !finalStates.has(state)) return [];
    return [{ kind: 'task-ended', taskId, state, reason: state === 'completed' ? null : message }];
  }
}

function resultOf(frame: DecodedArtifact, step: number | null): ShownResult {
  const { toolName: name, toolCallId: callId, content, fenceSource, exitCode, isError, durationMs } = frame;
  const shown = unfenced(content, fenceSource);
  return { callId, name, input: undefined, content: shown, exitCode, isError, isRefused: false, durationMs, step };
}
