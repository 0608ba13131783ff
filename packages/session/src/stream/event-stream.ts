/** Encodes each frame of a session once, keeps it for replay and hands it to every connection. */

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import type { EventId, NumberedFrame } from '@svc/protocol/frames.ts';
import { FrameBatches, type FrameSink, type SentFrame } from './frame-batches.ts';
import type { FrameStore } from './frame-store.ts';
import { ReplayBuffer, type Replay, WrittenFrame } from './replay-buffer.ts';

/** By what a client may say that a call runs, as `approvals.answer` names it: by the key of the session, or by a door token. */
export type Answerer = 'terminal' | 'door';

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
  readonly #readers = new FrameBatches();
  /** Readers of live events too; null as long as there never was one. */
  #eventReaders: FrameBatches | null = null;
  /** Readers of live events who could answer a call that waits for approval. */
  readonly #answerers = new Map<FrameSink, Answerer>();
  #ended = false;
  readonly #onEnd: (() => void)[] = [];

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
    this.#readers.queue(written);
    this.#eventReaders?.queue(written);
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

  /** Whether somebody who could answer in that way reads live events, questions among them. */
  isAttendedBy(answerer: Answerer): boolean {
    return [...this.#answerers.values()].includes(answerer);
  }

  /** A frame for the readers of live events alone, behind all that was published; it is not kept for replay. */
  tell(frame: SentFrame): void {
    if (!this.#ended) this.#eventReaders?.queue(frame);
  }

  /** Adds a reader. Frames published from now on reach it, so a replay read in the same turn misses and repeats none. */
  subscribe(sink: FrameSink): void {
    if (this.#ended) sink.end();
    else this.#readers.add(sink);
  }

  /** The same for a reader of live events too. `answers` is null for one who could answer no call. */
  subscribeWithEvents(sink: FrameSink, answers: Answerer | null): void {
    this.#eventReaders ??= new FrameBatches();
    if (this.#ended) return sink.end();
    this.#eventReaders.add(sink);
    if (answers !== null) this.#answerers.set(sink, answers);
  }

  unsubscribe(sink: FrameSink): void {
    this.#readers.remove(sink);
    this.#eventReaders?.remove(sink);
    this.#answerers.delete(sink);
  }

  replayFrom(lastEventId: EventId): Replay {
    return this.#buffer.replayFrom(lastEventId);
  }

  /** Sends what is queued and ends every reader. Idempotent; frames published later are dropped. */
  end(): void {
    if (this.#ended) return;
    this.#readers.flush();
    this.#eventReaders?.flush();
    this.#ended = true;
    this.#readers.end();
    this.#eventReaders?.end();
    for (const ended of this.#onEnd) ended();
  }

  /** Reports the end, for streams of other kinds which end with this one. */
  onEnd(ended: () => void): void {
    if (this.#ended) ended();
    else this.#onEnd.push(ended);
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
