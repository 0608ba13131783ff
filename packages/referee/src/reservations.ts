/** One approval that was granted, until it expires: the slot it holds, and whether it may still be redeemed. */
export interface Reservation {
  /** The serial of the session that granted it. */
  readonly parent: number;
  readonly expiresAt: number;
  /** `spent` was presented and not redeemed: it admits nobody, and its slot is held until it expires (D2 "Reservation of a child slot"). */
  state: 'unpresented' | 'spent' | 'redeemed';
}

const compactAt = 1024;

/**
 * Approvals in the order of their grant, which is that of their expiry, since all live equally long. Those that have expired are
 * forgotten: adding, finding and forgetting take the same time however many there are.
 */
export class Reservations {
  #queue: Reservation[] = [];
  #head = 0;
  /** The serial of the first in the queue. */
  #first = 0;

  /** The serial of the new reservation, which is never used again. */
  add(reservation: Reservation): number {
    this.#queue.push(reservation);
    return this.#first + this.#queue.length - 1;
  }

  /** Undefined once it is forgotten. */
  find(serial: number): Reservation | undefined {
    const index = serial - this.#first;
    return index < this.#head ? undefined : this.#queue[index];
  }

  /** Forgets the oldest and returns it, if it has expired. */
  takeExpired(now: number): Reservation | undefined {
    const oldest = this.#queue[this.#head];
    if (oldest === undefined || oldest.expiresAt > now) return undefined;
    this.#head += 1;
    if (this.#head >= compactAt && this.#head * 2 >= this.#queue.length) {
      this.#queue = this.#queue.slice(this.#head);
      this.#first += this.#head;
      this.#head = 0;
    }
    return oldest;
  }
}
