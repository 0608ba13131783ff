/** Encodes each frame of a session once, keeps it for replay and hands it to every connection. */

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import type { EventId, NumberedFrame } from '@svc/protocol/frames.ts';
import type { FrameStore } from './frame-store.ts';
import { ReplayBuffer, type Replay, longestHeld, WrittenFrame } from './replay-buffer.ts';

/** Frames published in one turn of the event loop. */
export interface FrameBatch {
  /** In the order published; never empty. */
  readonly frames: readonly WrittenFrame[];
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

/** Where long frames are kept. */
interface FrameKeeping {
  readonly store: FrameStore;
  /** Called when a frame could not be kept: nobody gets it, and the session cannot go on. */
  readonly onLost: (lost: Diagnostic) => void;
}

/**
 * Every frame of a session, to every reader: encoded once, kept for replay, handed on once per turn of the event loop.
 * Neither endpoint filters by task (D1 "`message/stream` and `stream/watch`" 2).
 */
export class EventStream {
  readonly #onFrame: (frame: NumberedFrame, id: EventId) => void;
  readonly #keeping: FrameKeeping | null;
  readonly #buffer = new ReplayBuffer();
  readonly #sinks = new Set<FrameSink>();
  #batch: WrittenFrame[] = [];
  #joined = '';
  #isFlushDue = false;
  /** Set from the first batch of a turn of the event loop to the end of that turn. */
  #turn: NodeJS.Immediate | null = null;
  #ended = false;

  /** `onFrame` sees every frame as it is published, for the live view of the terminal. Without `keeping` long frames are held in memory. */
  constructor(onFrame: (frame: NumberedFrame, id: EventId) => void = () => {}, keeping: FrameKeeping | null = null) {
    this.#onFrame = onFrame;
    this.#keeping = keeping;
  }

  /** Nothing is published any more, and a reader that comes now is ended at once. */
  get isOver(): boolean {
    return this.#ended;
  }

  publish(id: EventId, frame: NumberedFrame): void {
    if (this.#ended) return;
    this.#onFrame(frame, id);
    const written = this.#write(id, frame);
    if (written === null) return;
    this.#buffer.push(written);
    if (this.#sinks.size > 0) this.#queue(written);
  }

  #write(id: EventId, frame: NumberedFrame): WrittenFrame | null {
    try {
      return new WrittenFrame(id, frame, this.#keeping?.store ?? null);
    } catch (error) {
      if (!(error instanceof Diagnostic) || this.#keeping === null) throw error;
      this.#keeping.onLost(error);
      return null;
    }
  }

  /** Adds a reader. Frames published from now on reach it, so a replay read in the same turn misses and repeats none. */
  subscribe(sink: FrameSink): void {
    this.#flush();
    if (this.#ended) sink.end();
    else this.#sinks.add(sink);
  }

  unsubscribe(sink: FrameSink): void {
    this.#sinks.delete(sink);
  }

  replayFrom(lastEventId: EventId): Replay {
    return this.#buffer.replayFrom(lastEventId);
  }

  /** Sends what is queued and ends every reader. Idempotent; frames published later are dropped. */
  end(): void {
    if (this.#ended) return;
    this.#flush();
    this.#ended = true;
    if (this.#turn !== null) clearImmediate(this.#turn);
    for (const sink of this.#sinks) sink.end();
    this.#sinks.clear();
  }

  #queue(frame: WrittenFrame): void {
    const length = this.#joined.length + frame.text.length;
    if (this.#batch.length === batchFrames || length > longestHeld || frame.isStored) this.#flush();
    this.#batch.push(frame);
    this.#joined += frame.text;
    if (frame.isStored) this.#flush();
    else this.#scheduleFlush();
  }

  /** What is published first in a turn goes out at once with all that comes with it; the rest of the turn goes out together at its end. */
  #scheduleFlush(): void {
    if (this.#isFlushDue) return;
    this.#isFlushDue = true;
    if (this.#turn !== null) return;
    queueMicrotask(() => this.#flush());
    this.#turn = setImmediate(() => {
      this.#turn = null;
      this.#flush();
    });
  }

  #flush(): void {
    this.#isFlushDue = false;
    const frames = this.#batch;
    const [first] = frames;
    if (first === undefined) return;
    const together = (): Buffer => (frames.length === 1 ? first.bytes : Buffer.from(this.#joined));
    const batch = { frames, bytes: first.isStored ? null : together() };
    this.#batch = [];
    this.#joined = '';
    for (const sink of this.#sinks) sink.deliver(batch);
  }
}

const chunkStart: EventId = 4611686018427387903n;
const inputWaitStart: EventId = 9223372036854775807n;
const queuedCancelStart: EventId = 2305843009213693951n;

/** Hands out ids one by one; each of D1's counters is one of these ("Event ids"). */
export class EventIdCounter {
  #next: EventId;

  constructor(start: EventId) {
    this.#next = start;
  }

  next(): EventId {
    const id = this.#next;
    this.#next += 1n;
    return id;
  }

  /** Continues where the other counter stands. */
  continueFrom(other: EventIdCounter): void {
    this.#next = other.#next;
  }
}

/** The counters of one session. The task counter belongs to an attempt and is made anew for each. */
export class SessionEventIds {
  readonly chunks: EventIdCounter = new EventIdCounter(chunkStart);
  readonly queuedCancels: EventIdCounter = new EventIdCounter(queuedCancelStart);

  /** Counts the frames of one attempt at a task; every task and every reopened attempt begins at 0. */
  taskCounter(): EventIdCounter {
    return new EventIdCounter(0n);
  }

  /** Counts the frames of one `request-input` call. */
  inputWaitCounter(): EventIdCounter {
    return new EventIdCounter(inputWaitStart);
  }
}
