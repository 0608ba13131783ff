/** Drops replayed frames that were already delivered. */

import type { EventId } from '@svc/protocol/frames.ts';

/** The number that a capsule keeps for replay (D1 "Replay" 1). */
const maxKept = 512;

/** A frame that came with an id. */
export interface FrameWithId {
  readonly taskId: string;
  readonly event: string;
  readonly id: EventId;
  /** Its text, or for a long one enough of it: each replay repeats it unchanged. */
  readonly data: string;
}

interface SeenFrame {
  readonly key: string;
  readonly id: EventId;
}

/**
 * The frames with an id, in the order in which they came. After a reconnection a capsule replays what it still holds, in that order.
 * Ids alone identify nothing, because they begin again with each task, attempt and question. So a frame is known by its task, event and id (D1
 * "Replay" 6), its text, and its place after the frame that was replayed before it.
 */
export class SeenFrames {
  #seen: SeenFrame[] = [];
  /** The frames that the replay of this connection may bring; empty after the last one. */
  #expected: readonly SeenFrame[] = [];
  /** Which of them may come next: the first frames of a replay show where it begins. A frame after the last means that the replay is over. */
  #places: readonly number[] = [];
  #begins: 'whole' | 'without zeros' | 'has begun' = 'has begun';
  #isGapTold = false;

  /** Another connection begins. */
  reconnect(): void {
    this.#expected = this.#seen.slice(-maxKept);
    // A replay from 0 leaves out those with id 0 (D1 "Replay" 5).
    this.#begins = 'without zeros';
    this.#isGapTold = false;
  }

  /** Call it when the connection began with a `gap`: its replay holds frames with id 0 too (D1 "Replay" 4). */
  expectWholeReplay(): void {
    if (this.#begins === 'without zeros') this.#begins = 'whole';
  }

  /**
   * Returns `repeat` for a known frame. Returns `after-gap` once for a new one while the last known one has not been replayed: frames between may be
   * lost.
   */
  take({ taskId, event, id, data }: FrameWithId): 'new' | 'repeat' | 'after-gap' {
    const key = `${taskId} ${event} ${id} ${fingerprint(data)}`;
    const isFirst = this.#begins !== 'has begun';
    if (isFirst) this.#begin();
    const found = this.#places.filter((place) => this.#expected[place]?.key === key);
    if (found.length > 0) {
      this.#goOn(found.map((place) => place + 1));
      return 'repeat';
    }
    this.#keep({ key, id });
    if (this.#expected.length === 0) return 'new';
    const isOver = this.#places.includes(this.#expected.length);
    if (isOver || isFirst) this.#goOn([]);
    // A frame with id 0 that was written without a connection comes with a whole replay only.
    if (isOver || this.#isGapTold || (id === 0n && !isFirst)) return 'new';
    this.#isGapTold = true;
    return 'after-gap';
  }

  #begin(): void {
    if (this.#begins === 'without zeros') this.#expected = this.#expected.filter(({ id }) => id !== 0n);
    this.#begins = 'has begun';
    this.#places = this.#expected.map((_, place) => place);
  }

  /** Once the end is the only place left, no frame is expected any more. */
  #goOn(places: readonly number[]): void {
    const isOver = places.every((place) => place === this.#expected.length);
    this.#places = isOver ? [] : places;
    if (isOver) this.#expected = [];
  }

  #keep(frame: SeenFrame): void {
    if (this.#seen.length === 2 * maxKept) this.#seen = this.#seen.slice(-maxKept);
    this.#seen.push(frame);
  }
}

/** Characters compared at each end of a long text. */
const endLength = 1024;

/** Differs where texts differ, almost always. A slice of a text would keep all of it in memory. */
function fingerprint(text: string): string {
  let hash = 0x81_1c_9d_c5;
  const add = (from: number, to: number): void => {
    for (let index = from; index < to; index += 1) hash = Math.imul(hash ^ text.charCodeAt(index), 0x01_00_01_93);
  };
  add(0, Math.min(endLength, text.length));
  add(Math.max(endLength, text.length - endLength), text.length);
  return `${text.length} ${hash}`;
}
