/** Keeps idle streams alive: each connection sends something at equal intervals. */

import type { Clock } from '@svc/kit/clock.ts';

export interface HeartbeatMember {
  heartbeat(): void;
}

/**
 * Lets every connection beat one interval after it opened and every interval from then; frames change nothing about that. All
 * intervals are the same, so the order of joining is the order of coming due, and one timer serves them all. A beat that comes due
 * while the thread is busy is given once it is free; those missed meanwhile are not made up for.
 */
export class Heartbeats {
  readonly #clock: Clock;
  readonly #intervalMs: number;
  /** When each is due next, the soonest first. */
  readonly #due = new Map<HeartbeatMember, number>();
  #cancelTimer: (() => void) | null = null;

  constructor(clock: Clock, intervalMs: number) {
    this.#clock = clock;
    this.#intervalMs = intervalMs;
  }

  join(member: HeartbeatMember): void {
    const now = this.#clock.monotonicMs();
    const [soonest] = this.#due.values();
    // Send overdue heartbeats first: the map is ordered by due time, and this entry would otherwise come before them.
    if (soonest !== undefined && soonest <= now) this.#beatAll();
    this.#due.set(member, now + this.#intervalMs);
    if (this.#cancelTimer === null) this.#arm();
  }

  leave(member: HeartbeatMember): void {
    this.#due.delete(member);
    if (this.#due.size > 0) return;
    this.#cancelTimer?.();
    this.#cancelTimer = null;
  }

  #arm(): void {
    const [soonest] = this.#due.values();
    if (soonest === undefined) return;
    this.#cancelTimer = this.#clock.after(Math.max(1, soonest - this.#clock.monotonicMs()), () => {
      this.#cancelTimer = null;
      this.#beatAll();
    });
  }

  #beatAll(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = null;
    const now = this.#clock.monotonicMs();
    let inOrder = true;
    for (const [member, at] of this.#due) {
      if (at > now) break;
      const skipped = Math.floor((now - at) / this.#intervalMs);
      if (skipped > 0) inOrder = false;
      // Put at the end again, behind all that come due before it.
      this.#due.delete(member);
      this.#due.set(member, at + this.#intervalMs * (1 + skipped));
      member.heartbeat();
    }
    if (!inOrder) this.#sort();
    this.#arm();
  }

  /** Members that skipped unlike numbers of beats have changed places. */
  #sort(): void {
    const due = [...this.#due].sort(([, left], [, right]) => left - right);
    this.#due.clear();
    for (const [member, at] of due) this.#due.set(member, at);
  }
}
