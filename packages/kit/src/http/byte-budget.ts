/** What a server may hold at once: bytes of bodies and answers, and connections. */

import { readFileSync } from 'node:fs';
import { unlessRefused } from '../files/unless-refused.ts';

/** Up to here an answer fits into the buffers of its connection: a client that does not read it holds next to nothing. */
export const briefAnswer = 64 * 1024;

/** For answers of a server above 64 KiB that are made and not taken yet, together. One of any length is sent if it is alone. */
const answersBytes = 128 * 1024 * 1024;

/** The budget of the answers of one server. */
export function answerBudget(): ByteBudget {
  return new ByteBudget(answersBytes);
}

/** Why a budget has no room: it is full, or who asks would have more than their share. */
export type Shortage = 'full' | 'share';

/**
 * Bytes that many may hold together, and no more. What is held alone may be of any size. A holder with a name, who has some already, gets more only as long as
 * half of what the others leave stays free: so there is room for the next one, however many others take all they get.
 */
export class ByteBudget {
  readonly #maxBytes: number;
  /** Called whenever some are given back; of a queue for room, if there is one. */
  onGivenBack: (() => void) | null = null;
  #taken = 0;
  readonly #held = new Map<string, number>();

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** False, and nothing taken, when it would be too much. `holder` is null for those who have no share of their own. */
  take(bytes: number, holder: string | null = null): boolean {
    if (this.shortageOf(bytes, holder) !== null) return false;
    this.#taken += bytes;
    if (holder !== null) this.#held.set(holder, this.#heldBy(holder) + bytes);
    return true;
  }

  /** What keeps `take` from giving so much now; null for nothing. */
  shortageOf(bytes: number, holder: string | null): Shortage | null {
    if (this.#taken === 0) return null;
    if (this.#taken + bytes > this.#maxBytes) return 'full';
    const own = holder === null ? 0 : this.#heldBy(holder);
    const left = this.#maxBytes - (this.#taken - own);
    return own > 0 && own + bytes > left / 2 ? 'share' : null;
  }

  /** Gives back bytes of the holder that has taken them. */
  giveBack(bytes: number, holder: string | null = null): void {
    this.#taken -= bytes;
    if (holder !== null) {
      const own = this.#heldBy(holder) - bytes;
      if (own === 0) this.#held.delete(holder);
      else this.#held.set(holder, own);
    }
    this.onGivenBack?.();
  }

  #heldBy(holder: string): number {
    return this.#held.get(holder) ?? 0;
  }
}

/** Connections: what else a process opens must not depend on who connects to it. */
const most = 20_000;
/** Where the system reports none. */
const usualOpenFiles = 1_024;

/** Half of the files this process may have open, 20,000 at most. */
export function maxConnections(): number {
  return Math.min(most, Math.floor(openFilesLimit() / 2));
}

function openFilesLimit(): number {
  const limits = unlessRefused(() => readFileSync('/proc/self/limits', 'latin1'), '');
  const limit = /^Max open files +(\d+|unlimited)/m.exec(limits)?.[1];
  return limit === 'unlimited' ? Number.POSITIVE_INFINITY : Number(limit ?? usualOpenFiles);
}
