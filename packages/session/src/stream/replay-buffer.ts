/** Holds the latest frames for readers that come late. */

import { type EventId, encodeNumberedFrame, type NumberedFrame } from '@svc/protocol/frames.ts';
import type { TaskId } from '@svc/protocol/ids.ts';
import type { FrameStore, StoredBytes } from './frame-store.ts';

export interface Replay {
  /** The oldest id held, when earlier frames may be gone: a `gap` frame precedes the rest. */
  readonly gap: EventId | null;
  readonly frames: readonly WrittenFrame[];
}

/** Frames kept for replay (D1 "Replay" 1). */
const replayCapacity = 512;

/** The most recent frames that carry ids, in write order, one for the whole session (D1 "Replay" 1). */
export class ReplayBuffer {
  readonly #kept = new FrameRing<WrittenFrame>(replayCapacity);

  /** Adds a frame and releases the one it evicts. */
  push(frame: WrittenFrame): void {
    this.#kept.push(frame)?.release();
  }

  /** Frames after `lastEventId` in buffer order; ids are labels, so this compares them and never counts (D1 "Replay" 4). */
  replayFrom(lastEventId: EventId): Replay {
    const frames = this.#kept.toArray();
    const first = frames[0];
    if (first === undefined) return { gap: null, frames };
    if (first.id > lastEventId + 1n) return { gap: first.id, frames };
    return { gap: null, frames: frames.filter((frame) => frame.id > lastEventId) };
  }
}

/** The most recent values, in the order they came: a new one takes the place of the oldest once `capacity` is reached. */
export class FrameRing<Frame> {
  readonly #capacity: number;
  #slots: Frame[] = [];
  #oldest = 0;

  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  get size(): number {
    return this.#slots.length;
  }

  /** Returns the evicted value, if any. */
  push(frame: Frame): Frame | undefined {
    if (this.#slots.length < this.#capacity) {
      this.#slots.push(frame);
      return undefined;
    }
    const oldest = this.#slots[this.#oldest];
    this.#slots[this.#oldest] = frame;
    this.#oldest = (this.#oldest + 1) % this.#capacity;
    return oldest;
  }

  /** Everything held, oldest first. */
  toArray(): Frame[] {
    return [...this.#slots.slice(this.#oldest), ...this.#slots.slice(0, this.#oldest)];
  }

  /** The same values as `toArray`; nothing is held afterwards. */
  drain(): Frame[] {
    const frames = this.toArray();
    this.#slots = [];
    this.#oldest = 0;
    return frames;
  }
}

/** Frames up to this length are in memory, and are joined to be sent. */
export const maxHeld: number = 64 * 1024;

/** A frame as it is written, with its id. A long one is in a file, so that 512 of them take no memory. */
export class WrittenFrame {
  readonly id: EventId;
  readonly taskId: TaskId;
  /** A status that ends a task. */
  readonly final: boolean;
  /** The text; empty when it is in a file. */
  readonly #text: string;
  #bytes: Buffer | null = null;
  readonly #stored: StoredBytes | null;
  #holders = 1;

  /** Without a store every frame stays in memory. Throws the Diagnostic of a store that cannot take it. */
  constructor(id: EventId, frame: NumberedFrame, store: FrameStore | null = null) {
    this.id = id;
    this.taskId = frame.taskId;
    this.final = frame.event === 'status' && frame.final;
    const text = encodeNumberedFrame(id, frame);
    this.#stored = store === null || text.length <= maxHeld ? null : store.keep(Buffer.from(text));
    this.#text = this.#stored === null ? text : '';
  }

  /** Whether it is read piece by piece, with `read`. */
  get isStored(): boolean {
    return this.#stored !== null;
  }

  /** The text of a frame that is not in a file. */
  get text(): string {
    return this.#text;
  }

  /** The bytes of a frame that is not in a file, made when first asked for: most frames are only sent joined with others. */
  get bytes(): Buffer {
    this.#bytes ??= Buffer.from(this.#text);
    return this.#bytes;
  }

  /** The length in bytes of a frame that is in a file. */
  get storedLength(): number {
    return this.#stored?.length ?? 0;
  }

  /** Bytes of a stored one from `position`, which is within it; null once its store is closed. Throws `E-RUN-058`. */
  read(position: number, most: number): Buffer | null {
    return this.#stored?.read(position, most) ?? null;
  }

  /** Keeps the bytes for a reader after the buffer evicts the frame. */
  retain(): void {
    this.#holders += 1;
  }

  /** Once for each `retain`, and once for the replay buffer: after the last the file may be used for others. */
  release(): void {
    this.#holders -= 1;
    if (this.#holders === 0) this.#stored?.release();
  }
}
