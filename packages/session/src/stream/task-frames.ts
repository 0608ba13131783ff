/** Writes the frames of a session's event stream from its activity. */

import { chunkPieces } from '@svc/protocol/chunk-pieces.ts';
import type { ArtifactFrame } from '@svc/protocol/frames.ts';
import type { Activity, ActivityListener } from '../task/activity.ts';
import { type EventStream, type EventIdCounter, SessionEventIds } from './event-stream.ts';
import type { Announcement, Task } from '../task/task.ts';

/** The frames of D1 for everything that happens; ids as D1 "Event ids" has them. */
export function taskFrames(stream: EventStream): ActivityListener {
  const frames = new TaskFrames(stream);
  return (activity) => frames.write(activity);
}

class TaskFrames {
  readonly #stream: EventStream;
  readonly #ids = new SessionEventIds();
  /** Counts from 0 in each attempt; the task that runs is the only one that writes. */
  #attempt: EventIdCounter = this.#ids.taskCounter();
  /** Counts the frames of the question that is open. */
  #question: EventIdCounter = this.#ids.inputWaitCounter();
  #inferring = false;
  #chunks = 0;

  constructor(stream: EventStream) {
    this.#stream = stream;
  }

  write(activity: Activity): void {
    switch (activity.kind) {
      case 'attempt-started':
        this.#attempt = this.#ids.taskCounter();
        return;
      case 'state-changed':
        return this.#state(activity.task, activity.announcement);
      case 'inference-started':
        return this.#beginChunks();
      case 'text':
      case 'thinking':
        return this.#chunk(activity);
      case 'inference-left':
        return this.#endChunks(activity);
      case 'whole-reply':
        this.#ids.chunks.continueFrom(this.#attempt);
        this.#finalText(activity.task, activity.text);
        this.#attempt.continueFrom(this.#ids.chunks);
        return;
      case 'call-ended':
        return this.#result(activity);
      case 'hook-artifact':
        return this.#artifact(activity.task, {
          ...ofNoCall,
          toolName: activity.artifact.hookName,
          content: activity.artifact.content,
        });
      case 'question':
        this.#question = this.#ids.inputWaitCounter();
        return this.#asked(activity.task, { state: 'input-required', message: activity.question.prompt });
      case 'question-settled':
        if (activity.announcement !== null) this.#asked(activity.task, activity.announcement);
        return;
      case 'task-canceled':
        return this.#canceledInQueue(activity.task, activity.announcement);
      case 'task-submitted':
      case 'inference-ended':
      case 'retry-waits':
      case 'retried':
      case 'call-started':
      case 'call-judged':
      case 'file-refused':
      case 'question-offered':
      case 'offer-over':
      case 'spend-refused':
      case 'attempt-ended':
      case 'task-reopened':
      case 'task-settled':
      case 'noted':
        return;
    }
  }

  #state({ id: taskId, result }: Task, { state, message, final }: Announcement): void {
    if (state === 'input-required') throw new Error('a question has frames of its own');
    const carriesResult = final && state !== 'completed' && result !== null;
    this.#stream.publish(this.#attempt.next(), {
      event: 'status',
      taskId,
      state,
      message,
      ...(carriesResult ? { response: result } : {}),
      final,
    });
  }

  /** The chunk counter takes over where the attempt's stands, and gives it back after the inference (D1 "Event ids"). */
  #beginChunks(): void {
    this.#inferring = true;
    this.#chunks = 0;
    this.#ids.chunks.continueFrom(this.#attempt);
  }

  #chunk({ kind, task, text }: Extract<Activity, { kind: 'text' | 'thinking' }>): void {
    for (const piece of chunkPieces(text)) {
      this.#chunks += 1;
      const id = this.#ids.chunks.next();
      if (kind === 'thinking') this.#stream.publish(id, { event: 'thinking', taskId: task.id, text: piece });
      else this.#stream.publish(id, { event: 'text', taskId: task.id, text: piece, final: false });
    }
  }

  /** The end of an inference's chunks is marked (D1 "Frame types", `text`), unless nobody waits for it. */
  #endChunks({ task, isCanceled }: Extract<Activity, { kind: 'inference-left' }>): void {
    if (!isCanceled && this.#chunks > 0) this.#finalText(task, '');
    this.#inferring = false;
    this.#attempt.continueFrom(this.#ids.chunks);
  }

  #finalText({ id: taskId }: Task, text: string): void {
    this.#stream.publish(this.#ids.chunks.next(), { event: 'text', taskId, text, final: true });
  }

  /** One frame for each call that was dispatched; a denied one was not (D1 "Frame types", `artifact`). */
  #result({ task, call }: Extract<Activity, { kind: 'call-ended' }>): void {
    if (call.denied) return;
    const { toolName, content, fenceSource, callId: toolCallId, isError, durationMs, exitCode, truncated } = call;
    this.#artifact(task, { toolName, content, fenceSource, toolCallId, isError, durationMs, exitCode, truncated });
  }

  /** In the middle of an inference the counter is handed over: the ids of one attempt rise. */
  #artifact({ id: taskId }: Task, fields: Omit<ArtifactFrame, 'event' | 'taskId'>): void {
    const counter = this.#inferring ? this.#ids.chunks : this.#attempt;
    this.#stream.publish(counter.next(), { event: 'artifact', taskId, ...fields });
  }

  #asked({ id: taskId, contextId }: Task, { state, message }: Pick<Announcement, 'state' | 'message'>): void {
    if (state === 'completed' || state === 'canceled') throw new Error('a question never ends a task');
    this.#stream.publish(this.#question.next(), { event: 'status', taskId, contextId, state, message, final: false });
  }

  #canceledInQueue({ id: taskId }: Task, announcement: Announcement | null): void {
    if (announcement === null) return;
    const { message, final } = announcement;
    const id = this.#ids.queuedCancels.next();
    this.#stream.publish(id, { event: 'status', taskId, state: 'canceled', message, final });
  }
}

/** What belongs to a call alone is null or false for what a hook commits (D1 "Frame types", `artifact`). */
const ofNoCall = {
  fenceSource: null,
  toolCallId: null,
  isError: false,
  durationMs: null,
  exitCode: null,
  truncated: false,
} as const;
