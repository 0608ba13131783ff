/** Bounds what the receivers of a capsule's notifications may hold, and how many are asked at the same time: of all clients together, and of each. */

import type { Principal } from '../../callers/principal.ts';

interface Bounds {
  /** Bytes of notifications that wait. */
  readonly bytes: number;
  /** Requests at the same time. */
  readonly places: number;
}

const ofAll: Bounds = { bytes: 32 * 1024 * 1024, places: 32 };
const ofOne: Bounds = { bytes: 8 * 1024 * 1024, places: 8 };

type Owner = Pick<Principal, 'name' | 'seesAll'>;

/** Shared by all queues of one capsule. */
export class PushBudget {
  /** By the names of their clients. The first one has the next turn, and is the last one after it. */
  readonly #shares = new Map<string, PushShare>();
  #bytes = 0;
  #places = 0;

  /** Adds a receiver of a client; it has to leave the share. */
  enter({ name, seesAll }: Owner): PushShare {
    const share = this.#shares.get(name) ?? new PushShare(this, { name, seesAll });
    this.#shares.set(name, share);
    share.receivers += 1;
    return share;
  }

  /** The operator may have all where no other client is notified: nobody else misses it. */
  isAlone({ name, seesAll }: Owner): boolean {
    if (!seesAll) return false;
    return [...this.#shares.values()].every(({ owner, receivers }) => owner.name === name || receivers === 0);
  }

  take(share: PushShare, bytes: number): boolean {
    const most = this.isAlone(share.owner) ? ofAll : ofOne;
    if (share.bytes + bytes > most.bytes || this.#bytes + bytes > ofAll.bytes) return false;
    share.bytes += bytes;
    this.#bytes += bytes;
    return true;
  }

  giveBack(share: PushShare, bytes: number): void {
    share.bytes -= bytes;
    this.#bytes -= bytes;
  }

  givePlaceBack(share: PushShare): void {
    share.places -= 1;
    this.#places -= 1;
    this.fill();
  }

  /** Gives free places to those that wait: to the client that has fewest, in turn where several do, to the receivers of one in the order in which they came. */
  fill(): void {
    while (this.#places < ofAll.places) {
      const waiting = [...this.#shares.values()].filter((share) => share.waiting.length > 0 && this.#mayAsk(share));
      const [next] = waiting.toSorted((one, other) => one.places - other.places);
      if (next === undefined) return;
      next.places += 1;
      this.#places += 1;
      this.#shares.delete(next.owner.name);
      this.#shares.set(next.owner.name, next);
      next.waiting.shift()?.();
    }
  }

  /** Releases what a client has once it is notified of nothing any more. */
  left(share: PushShare): void {
    if (share.receivers === 0 && share.places === 0) this.#shares.delete(share.owner.name);
    this.fill();
  }

  #mayAsk(share: PushShare): boolean {
    return share.places < (this.isAlone(share.owner) ? ofAll : ofOne).places;
  }
}

/** What the receivers of one client have of it. */
export class PushShare {
  readonly owner: Owner;
  readonly #budget: PushBudget;
  /** Kept by the budget. */
  receivers = 0;
  bytes = 0;
  places = 0;
  readonly waiting: (() => void)[] = [];

  constructor(budget: PushBudget, owner: Owner) {
    this.#budget = budget;
    this.owner = owner;
  }

  /** False where there is no room for so many bytes. */
  take(bytes: number): boolean {
    return this.#budget.take(this, bytes);
  }

  giveBack(bytes: number): void {
    this.#budget.giveBack(this, bytes);
  }

  /** A place for one request, which the function gives back, once; null when the signal is aborted before there is one. */
  async place(signal: AbortSignal): Promise<(() => void) | null> {
    if (signal.aborted) return null;
    const hasPlace = await new Promise<boolean>((resolve) => {
      const have = (): void => {
        signal.removeEventListener('abort', leave);
        resolve(true);
      };
      const leave = (): void => {
        this.waiting.splice(this.waiting.indexOf(have), 1);
        resolve(false);
      };
      signal.addEventListener('abort', leave, { once: true });
      this.waiting.push(have);
      this.#budget.fill();
    });
    if (!hasPlace) return null;
    const giveBack = (): void => {
      this.#budget.givePlaceBack(this);
      this.#budget.left(this);
    };
    if (!signal.aborted) return giveBack;
    giveBack();
    return null;
  }

  /** One receiver of the client is notified of nothing more. */
  leave(): void {
    this.receivers -= 1;
    this.#budget.left(this);
  }
}
