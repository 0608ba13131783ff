import { encodeNumberedFrame, type EventId, type NumberedFrame } from '../wire/frames.ts';
import { ReplayBuffer, type Replay, type WrittenFrame } from './replay-buffer.ts';

/** A live reader of the stream. `accept` only queues; `flush` sends what was queued, once per turn of the event loop. */
export interface FrameSink {
  accept(frame: WrittenFrame): void;
  flush(): void;
  /** The stream has ended in good order; nothing follows (D1 "Frame types", `capsule-closed`). */
  end(): void;
}

/**
 * Every frame of a session, to every reader: encoded once, kept for replay, handed to each live sink.
 * Neither endpoint filters by task (D1 "`message/stream` and `stream/watch`" 2).
 */
export class EventStream {
  readonly #onFrame: (frame: NumberedFrame) => void;
  readonly #buffer = new ReplayBuffer();
  readonly #sinks = new Set<FrameSink>();
  #flushing: NodeJS.Immediate | null = null;
  #ended = false;

  /** `onFrame` sees every frame before it is encoded, for the live view of the terminal. */
  constructor(onFrame: (frame: NumberedFrame) => void = () => {}) {
    this.#onFrame = onFrame;
  }

  publish(id: EventId, frame: NumberedFrame): void {
    if (this.#ended) return;
    this.#onFrame(frame);
    const written: WrittenFrame = {
      id,
      bytes: encodeNumberedFrame(id, frame),
      final: frame.event === 'status' && frame.final,
    };
    this.#buffer.push(written);
    if (this.#sinks.size === 0) return;
    for (const sink of this.#sinks) sink.accept(written);
    this.#flushing ??= setImmediate(() => this.#flush());
  }

  /** Adds a reader. Frames published from now on reach it, so a replay read in the same turn misses and repeats none. */
  subscribe(sink: FrameSink): void {
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
    for (const sink of this.#sinks) sink.end();
    this.#sinks.clear();
  }

  #flush(): void {
    if (this.#flushing !== null) clearImmediate(this.#flushing);
    this.#flushing = null;
    for (const sink of this.#sinks) sink.flush();
  }
}
