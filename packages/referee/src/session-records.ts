/** Remembers the sessions that registered, and how each ended. */

import type { SpawnEnvelope } from '@svc/artifacts/grants/spawn-envelope.ts';
import type { ResolvedCapsule } from './capsule-registry.ts';

export type SessionStatus = 'running' | 'complete' | 'failed';

/** What the referee knows of a session (D2 "Session record"); how many children it holds is asked of the records. */
export interface SessionRecord {
  /** Names the session in credentials; given once, in the order of registration. */
  readonly serial: number;
  readonly status: SessionStatus;
  /** Levels of delegation still available below it. */
  readonly depthRemaining: number;
  /** The serial of the session whose approval it was registered under; null without one. */
  readonly parent: number | null;
  /** The grants lowered from its registry manifest; null once it has ended. */
  readonly envelope: SpawnEnvelope | null;
}

export interface Registration {
  readonly id: string;
  readonly depthRemaining: number;
  readonly capsule: ResolvedCapsule;
}

/** Approvals live for 60 seconds (D2 "Limits"). */
export const approvalLifetimeMs = 60_000;

/**
 * All state of the referee. Its figures are exact at every moment: what has expired is released whenever a figure is read, and no
 * timer runs (D2 "Reservation of a child slot"). Nothing here takes longer with more sessions. Records of ended sessions stay, so that their status can be asked.
 */
export class SessionRecords {
  readonly #monotonicMs: () => number;
  readonly #byId = new Map<string, Entry>();
  readonly #bySerial: Entry[] = [];
  readonly #reservations = new Reservations();
  readonly #envelopes = new SharedEnvelopes();
  #running = 0;
  #reserved = 0;

  constructor(monotonicMs: () => number) {
    this.#monotonicMs = monotonicMs;
  }

  find(id: string): SessionRecord | undefined {
    return this.#byId.get(id);
  }

  /** The session of this serial while it is running. */
  running(serial: number): SessionRecord | undefined {
    const entry = this.#bySerial[serial];
    return entry?.status === 'running' ? entry : undefined;
  }

  /** Running sessions and reserved slots: the machine census. */
  liveCapsules(): number {
    this.#releaseExpired();
    return this.#running + this.#reserved;
  }

  /** Running children of a session and the slots reserved by it. */
  liveChildren({ serial }: SessionRecord): number {
    this.#releaseExpired();
    const entry = this.#entry(serial);
    return entry.runningChildren + entry.reservedChildren;
  }

  /** Records a session that presented no approval. Its id must be free. */
  admit(registration: Registration): SessionRecord {
    return this.#add(registration, null);
  }

  /** Reserves a slot of a running session until the approval expires. */
  reserve(parent: SessionRecord): { readonly serial: number; readonly expiresAt: number } {
    const expiresAt = this.#monotonicMs() + approvalLifetimeMs;
    const serial = this.#reservations.add({ parent: parent.serial, expiresAt, state: 'unpresented' });
    this.#entry(parent.serial).reservedChildren += 1;
    this.#reserved += 1;
    return { serial, expiresAt };
  }

  /** The reservation behind an approval; undefined once it has expired. */
  reservation(serial: number): Readonly<Reservation> | undefined {
    this.#releaseExpired();
    return this.#reservations.find(serial);
  }

  /** The approval, which was live when it was looked at, admits nobody from now on but the registration that presents it. */
  spend(serial: number): void {
    // Not looked at again: it could expire between two readings of the clock within one decision.
    const reservation = this.#reservations.find(serial);
    if (reservation?.state !== 'unpresented') throw new Error(`approval ${serial} cannot be spent`);
    reservation.state = 'spent';
  }

  /** Turns the slot of a spent approval into a running child: no figure changes. Its id must be free. */
  redeem(serial: number, registration: Registration): SessionRecord {
    const reservation = this.#reservations.find(serial);
    if (reservation?.state !== 'spent') throw new Error(`approval ${serial} cannot be redeemed`);
    const child = this.#add(registration, reservation.parent);
    reservation.state = 'redeemed';
    this.#release(reservation.parent);
    this.#entry(reservation.parent).runningChildren += 1;
    return child;
  }

  /** Ends a running session: its slot and all it has reserved are free. */
  end({ serial }: SessionRecord, status: Exclude<SessionStatus, 'running'>): void {
    const entry = this.#entry(serial);
    if (entry.status !== 'running') throw new Error(`session ${serial} has ended already`);
    entry.status = status;
    if (entry.shared !== null) this.#envelopes.release(entry.shared);
    entry.shared = null;
    this.#running -= 1;
    this.#reserved -= entry.reservedChildren;
    entry.reservedChildren = 0;
    if (entry.parent !== null) this.#entry(entry.parent).runningChildren -= 1;
  }

  #add({ id, depthRemaining, capsule }: Registration, parent: number | null): Entry {
    if (this.#byId.has(id)) throw new Error('a session of this id is registered already');
    const shared = this.#envelopes.hold(capsule);
    const entry = new Entry({ serial: this.#bySerial.length, depthRemaining, parent, shared });
    this.#byId.set(id, entry);
    this.#bySerial.push(entry);
    this.#running += 1;
    return entry;
  }

  #releaseExpired(): void {
    const now = this.#monotonicMs();
    for (;;) {
      const expired = this.#reservations.takeExpired(now);
      if (expired === undefined) return;
      // A session that has ended released its slots then.
      if (expired.state !== 'redeemed' && this.running(expired.parent) !== undefined) this.#release(expired.parent);
    }
  }

  #release(parent: number): void {
    this.#entry(parent).reservedChildren -= 1;
    this.#reserved -= 1;
  }

  #entry(serial: number): Entry {
    const entry = this.#bySerial[serial];
    if (entry === undefined) throw new Error(`there is no session ${serial}`);
    return entry;
  }
}

class Entry implements SessionRecord {
  readonly serial: number;
  readonly depthRemaining: number;
  readonly parent: number | null;
  status: SessionStatus = 'running';
  shared: SharedEnvelope | null;
  runningChildren = 0;
  reservedChildren = 0;

  constructor({
    serial,
    depthRemaining,
    parent,
    shared,
  }: Pick<Entry, 'serial' | 'depthRemaining' | 'parent' | 'shared'>) {
    this.serial = serial;
    this.depthRemaining = depthRemaining;
    this.parent = parent;
    this.shared = shared;
  }

  get envelope(): SpawnEnvelope | null {
    return this.shared?.envelope ?? null;
  }
}

/** The envelope of an artifact with sessions that run. */
interface SharedEnvelope {
  readonly sha256: string;
  readonly envelope: SpawnEnvelope;
}

/** One envelope for all running sessions of the same artifact: the same bytes, lowered in the same environment, hold the same. */
class SharedEnvelopes {
  readonly #byHash = new Map<string, SharedEnvelope & { holders: number }>();

  /** What one more session is to keep, and to give back by `release`. */
  hold({ sha256, envelope }: ResolvedCapsule): SharedEnvelope {
    const known = this.#byHash.get(sha256);
    if (known !== undefined) {
      known.holders += 1;
      return known;
    }
    const shared = { sha256, envelope, holders: 1 };
    this.#byHash.set(sha256, shared);
    return shared;
  }

  release({ sha256 }: SharedEnvelope): void {
    const shared = this.#byHash.get(sha256);
    if (shared === undefined) throw new Error(`no session holds ${sha256}`);
    shared.holders -= 1;
    if (shared.holders === 0) this.#byHash.delete(sha256);
  }
}

/** One approval that was granted, until it expires: the slot it holds, and whether it may still be redeemed. */
interface Reservation {
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
class Reservations {
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
