import { encodeNumberedFrame, type EventId, type NumberedFrame } from '@svc/protocol/frames.ts';
import type { FrameStore, StoredBytes } from './frame-store.ts';

/** Frames up to this length are in memory, and are joined to be sent. */
export const longestHeld: number = 64 * 1024;

/** A frame as it is written, with its id. A long one is in a file, so that 512 of them take no memory. */
export class WrittenFrame {
  readonly id: EventId;
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
    this.final = frame.event === 'status' && frame.final;
    const text = encodeNumberedFrame(id, frame);
    this.#stored = store === null || text.length <= longestHeld ? null : store.keep(Buffer.from(text));
    this.#text = this.#stored === null ? text : '';
  }

  /** Whether it is read piece by piece, with `read`. */
  get isStored(): boolean {
    return this.#stored !== null;
  }

  /** Of one that is not stored. */
  get text(): string {
    return this.#text;
  }

  /** Of one that is not stored. Made when first asked for, then the same for all: most frames only ever leave in one piece with others. */
  get bytes(): Buffer {
    this.#bytes ??= Buffer.from(this.#text);
    return this.#bytes;
  }

  /** Of a stored one, in bytes. */
  get storedLength(): number {
    return this.#stored?.length ?? 0;
  }

  /** Bytes of a stored one from `position`, which is within it; null once its store is closed. Throws `E-RUN-058`. */
  read(position: number, most: number): Buffer | null {
    return this.#stored?.read(position, most) ?? null;
  }

  /** Somebody is to read it, whatever becomes of the replay buffer meanwhile. */
  hold(): void {
    this.#holders += 1;
  }

  /** Once for each `hold`, and once for the replay buffer: after the last the file may be used for others. */
  letGo(): void {
    this.#holders -= 1;
    if (this.#holders === 0) this.#stored?.release();
  }
}
