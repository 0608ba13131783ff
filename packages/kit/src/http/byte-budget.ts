/** What a server may hold at once: bytes of bodies and answers, and connections. */

import { readFileSync } from 'node:fs';
import { unlessRefused } from '../files/unless-refused.ts';

/** Up to here an answer fits into the buffers of its connection: a client that does not read it holds next to nothing. */
export const briefAnswer = 64 * 1024;

/** Of all answers of a server above 64 KiB that are made and not taken yet. One of any length is sent where there is no other. */
const answersBytes = 128 * 1024 * 1024;

/** The budget of the answers of one server. */
export function answerBudget(): ByteBudget {
  return new ByteBudget(answersBytes);
}

/** Bytes that many may hold together, and no more. What is held alone may be of any size. */
export class ByteBudget {
  readonly #maxBytes: number;
  /** Called whenever some are given back; of a queue for room, if there is one. */
  onGivenBack: (() => void) | null = null;
  #taken = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** False, and nothing taken, when it would be too much. */
  take(bytes: number): boolean {
    if (this.#taken > 0 && this.#taken + bytes > this.#maxBytes) return false;
    this.#taken += bytes;
    return true;
  }

  giveBack(bytes: number): void {
    this.#taken -= bytes;
    this.onGivenBack?.();
  }
}

/** Of connections: what else a process opens must not depend on who connects to it. */
const most = 20_000;
/** Where the system does not tell. */
const usualOpenFiles = 1_024;

/** Half of the files this process may have open, 20,000 at most. */
export function mostConnections(): number {
  return Math.min(most, Math.floor(openFilesLimit() / 2));
}

function openFilesLimit(): number {
  const limits = unlessRefused(() => readFileSync('/proc/self/limits', 'latin1'), '');
  const limit = /^Max open files +(\d+|unlimited)/m.exec(limits)?.[1];
  return limit === 'unlimited' ? Number.POSITIVE_INFINITY : Number(limit ?? usualOpenFiles);
}
