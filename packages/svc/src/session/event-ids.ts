import type { EventId } from '@svc/protocol/frames.ts';

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

  /** For one task attempt: 0 again for every task and every reopened attempt. */
  taskCounter(): EventIdCounter {
    return new EventIdCounter(0n);
  }

  /** For one `request-input` call. */
  inputWaitCounter(): EventIdCounter {
    return new EventIdCounter(inputWaitStart);
  }

  /**
   * The chunk counter takes the task counter's value before `write` and gives it back after, however `write` ends.
   * Holds for an inference call and for the whole-reply text frame.
   */
  async handOver<T>(task: EventIdCounter, write: () => Promise<T> | T): Promise<T> {
    this.chunks.continueFrom(task);
    try {
      return await write();
    } finally {
      task.continueFrom(this.chunks);
    }
  }
}
