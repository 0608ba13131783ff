/** Writes what one attempt at a task does to the event stream. */

import type { HookArtifact } from '../hooks/session-hooks.ts';
import type { Usage } from '../inference/driver.ts';
import { chunkPieces } from '@svc/protocol/chunk-pieces.ts';
import type { ArtifactFrame } from '@svc/protocol/frames.ts';
import { TaskCanceled, type Task, type TaskEvent } from './task.ts';
import type { EventStream, EventIdCounter, SessionEventIds } from './event-stream.ts';

/**
 * What one attempt at a task writes to the event stream. Ids start at 0 with each attempt; frames keep the task's id
 * (D1 "Task states", reopening).
 */
export class Attempt {
  readonly task: Task;
  readonly #stream: EventStream;
  readonly #ids: SessionEventIds;
  readonly #counter: EventIdCounter;
  #textChunks = 0;
  #chunks = 0;
  #inferring = false;
  /** Inference turns begun. */
  turns = 0;
  usage: Usage = { inputTokens: 0, outputTokens: 0 };

  constructor(task: Task, stream: EventStream, ids: SessionEventIds) {
    this.task = task;
    this.#stream = stream;
    this.#ids = ids;
    this.#counter = ids.taskCounter();
  }

  /** Moves the task and writes the status frame the table asks for. */
  announce(event: TaskEvent): void {
    const announcement = this.task.apply(event);
    if (announcement === null) return;
    const { state, message, final } = announcement;
    if (state === 'input-required') throw new Error('an input wait writes its own frames');
    const { result } = this.task;
    const carriesResult = final && state !== 'completed' && result !== null;
    this.#stream.publish(this.#counter.next(), {
      event: 'status',
      taskId: this.task.id,
      state,
      message,
      ...(carriesResult ? { response: result } : {}),
      final,
    });
  }

  /** In the middle of an inference the counter is handed over: the ids of one attempt rise. */
  artifact(fields: Omit<ArtifactFrame, 'event' | 'taskId'>): void {
    const counter = this.#inferring ? this.#ids.chunks : this.#counter;
    this.#stream.publish(counter.next(), { event: 'artifact', taskId: this.task.id, ...fields });
  }

  /** What belongs to a call alone is null or false (D1 "Frame types", `artifact`). */
  hookArtifact({ hookName, content }: HookArtifact): void {
    this.artifact({
      toolName: hookName,
      content,
      fenceSource: null,
      toolCallId: null,
      isError: false,
      durationMs: null,
      exitCode: null,
      truncated: false,
    });
  }

  /** Chunks of a driver or a tool. Nothing is written once the task is canceled. */
  text(text: string): void {
    if (this.task.signal.aborted) return;
    for (const piece of chunkPieces(text)) {
      this.#textChunks += 1;
      this.#chunks += 1;
      this.#stream.publish(this.#ids.chunks.next(), { event: 'text', taskId: this.task.id, text: piece, final: false });
    }
  }

  thinking(text: string): void {
    if (this.task.signal.aborted) return;
    for (const piece of chunkPieces(text)) {
      this.#chunks += 1;
      this.#stream.publish(this.#ids.chunks.next(), { event: 'thinking', taskId: this.task.id, text: piece });
    }
  }

  /**
   * One inference call: the counters are handed over around it, and the end of its chunks is marked (D1 "Frame types", `text`).
   * `streamedText` tells whether the reply has already been shown.
   */
  async inference<T>(call: () => Promise<T>): Promise<{ outcome: T; streamedText: boolean }> {
    this.#textChunks = 0;
    this.#chunks = 0;
    const outcome = await this.#ids.handOver(this.#counter, () => this.#infer(call));
    return { outcome, streamedText: this.#textChunks > 0 };
  }

  async #infer<T>(call: () => Promise<T>): Promise<T> {
    this.#inferring = true;
    try {
      const result = await call();
      this.throwIfCanceled();
      if (this.#chunks > 0) this.#markText('');
      return result;
    } finally {
      this.#inferring = false;
    }
  }

  /** The whole reply of a task whose last turn streamed none of it. */
  async wholeReply(reply: string): Promise<void> {
    await this.#ids.handOver(this.#counter, () => this.#markText(reply));
  }

  addUsage({ inputTokens, outputTokens }: Usage): void {
    this.usage = {
      inputTokens: this.usage.inputTokens + inputTokens,
      outputTokens: this.usage.outputTokens + outputTokens,
    };
  }

  throwIfCanceled(): void {
    if (this.task.signal.aborted) throw new TaskCanceled();
  }

  #markText(text: string): void {
    this.#stream.publish(this.#ids.chunks.next(), { event: 'text', taskId: this.task.id, text, final: true });
  }
}
