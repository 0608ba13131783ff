/** Tells the frames of a replay that came before from those that did not. */

import type { EventId } from '@svc/protocol/frames.ts';

/** As many as a capsule keeps for replay (D1 "Replay" 1). */
const mostKept = 512;

interface SeenFrame {
  /** The task, the event and the id (D1 "Replay" 6). */
  readonly key: string;
  readonly id: EventId;
}

/**
 * The frames that came with an id, in the order in which they came. After a reconnection a capsule replays what it still holds, in that order.
 * Ids tell nothing apart by themselves, as they begin again with each task, attempt and question: a frame is known by its task, event and id, and
 * by its place among the others.
 */
export class SeenFrames {
  #seen: SeenFrame[] = [];
  /** Those that the replay of this connection may bring; empty once it has brought the last. */
  #expected: readonly SeenFrame[] = [];
  #position = 0;
  #last = -1;
  #isFirst = false;

  /** Another connection begins. */
  reconnect(): void {
    const expected = this.#seen.slice(-mostKept);
    // A replay from 0 leaves out those with id 0 (D1 "Replay" 5).
    this.#last = expected.findLastIndex(({ id }) => id !== 0n);
    this.#expected = this.#last === -1 ? [] : expected;
    this.#position = 0;
    this.#isFirst = true;
  }

  /** The connection began with a `gap`: its replay holds frames with id 0 too (D1 "Replay" 4). */
  replayIsWhole(): void {
    this.#last = this.#expected.length - 1;
  }

  /** `again` for what came before. `after-gap` for the first frame of a connection when it did not come before: frames between may be lost. */
  take(taskId: string, event: string, id: EventId): 'new' | 'again' | 'after-gap' {
    const key = `${taskId} ${event} ${id}`;
    const found = this.#expected.findIndex((each, index) => index >= this.#position && each.key === key);
    const isAfterGap = found === -1 && this.#isFirst && this.#expected.length > 0;
    this.#isFirst = false;
    if (isAfterGap || found >= this.#last) this.#expected = [];
    if (found !== -1) {
      this.#position = found + 1;
      return 'again';
    }
    this.#keep({ key, id });
    return isAfterGap ? 'after-gap' : 'new';
  }

  #keep(frame: SeenFrame): void {
    if (this.#seen.length === 2 * mostKept) this.#seen = this.#seen.slice(-mostKept);
    this.#seen.push(frame);
  }
}
