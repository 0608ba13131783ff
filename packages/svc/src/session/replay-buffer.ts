import type { EventId } from '@svc/protocol/frames.ts';
import { FrameRing } from './frame-ring.ts';
import type { WrittenFrame } from './written-frame.ts';

export interface Replay {
  /** The oldest id held, when earlier frames may be gone: a `gap` frame precedes the rest. */
  readonly gap: EventId | null;
  readonly frames: readonly WrittenFrame[];
}

/** Frames kept for replay (D1 "Replay" 1). */
export const replayCapacity = 512;

/** The most recent frames that carry ids, in write order, one for the whole session (D1 "Replay" 1). */
export class ReplayBuffer {
  readonly #kept = new FrameRing<WrittenFrame>(replayCapacity);

  /** The frame that has to go for it is let go. */
  push(frame: WrittenFrame): void {
    this.#kept.push(frame)?.letGo();
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
