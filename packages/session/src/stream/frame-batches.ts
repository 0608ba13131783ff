/** Joins the frames of one turn of the event loop, and hands them to readers together. */

import type { EventId } from '@svc/protocol/frames.ts';
import type { TaskId } from '@svc/protocol/ids.ts';
import { OncePerTurn } from './once-per-turn.ts';
import { maxHeld } from './replay-buffer.ts';

/** A frame as it is sent. One that is stored is read piece by piece, and has neither text nor bytes. */
export interface SentFrame {
  /** It is null when the frame is written without one. */
  readonly id: EventId | null;
  /** The task that it belongs to; null for a frame that only readers of all tasks get. */
  readonly taskId: TaskId | null;
  /** A status that ends a task. */
  readonly final: boolean;
  readonly isStored: boolean;
  readonly text: string;
  readonly bytes: Buffer;
  /** The length in bytes of a frame that is stored. */
  readonly storedLength: number;
  /** Bytes of a stored one from `position`, which is within it; null once they are gone. Throws the Diagnostic of a file that cannot be read. */
  read(position: number, most: number): Buffer | null;
  /** Keeps the bytes for a reader, after the replay buffer has evicted the frame too. */
  retain(): void;
  /** Once for each `retain`. */
  release(): void;
}

/** Frames published in one turn of the event loop. */
export interface FrameBatch {
  /** In the order published; never empty. */
  readonly frames: readonly SentFrame[];
  /** The bytes of all of them in one piece, which every reader shares; null of a frame that is stored, which is alone. */
  readonly bytes: Buffer | null;
}

/** A live reader of the stream. */
export interface FrameSink {
  deliver(batch: FrameBatch): void;
  /** The stream has ended in good order; nothing follows (D1 "Frame types", `capsule-closed`). */
  end(): void;
}

/** Frames that wait for the end of the turn; with this many the batch is full. A reader's own queue holds as many (D1 "Missed frames"). */
const batchFrames = 128;

/** Readers that are handed the same frames. */
export class FrameBatches {
  readonly #sinks = new Set<FrameSink>();
  #batch: SentFrame[] = [];
  #joined = '';
  readonly #turn = new OncePerTurn(() => this.#handOn());

  get size(): number {
    return this.#sinks.size;
  }

  /** Frames queued from now on reach it, and none that were queued before. */
  add(sink: FrameSink): void {
    this.flush();
    this.#sinks.add(sink);
  }

  remove(sink: FrameSink): void {
    this.#sinks.delete(sink);
  }

  /** Costs nothing as long as nobody reads. */
  queue(frame: SentFrame): void {
    if (this.#sinks.size === 0) return;
    const length = this.#joined.length + frame.text.length;
    if (this.#batch.length === batchFrames || length > maxHeld || frame.isStored) this.flush();
    this.#batch.push(frame);
    this.#joined += frame.text;
    if (frame.isStored) this.flush();
    else this.#turn.schedule();
  }

  /** Hands on what is queued. */
  flush(): void {
    this.#turn.flush();
  }

  #handOn(): void {
    const frames = this.#batch;
    const [first] = frames;
    if (first === undefined) return;
    const together = (): Buffer => (frames.length === 1 ? first.bytes : Buffer.from(this.#joined));
    const batch = { frames, bytes: first.isStored ? null : together() };
    this.#batch = [];
    this.#joined = '';
    for (const sink of this.#sinks) sink.deliver(batch);
  }

  /** Ends every reader; what is queued has been flushed. */
  end(): void {
    this.#turn.end();
    for (const sink of this.#sinks) sink.end();
    this.#sinks.clear();
  }
}
