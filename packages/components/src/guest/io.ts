/** Lets a component wait for what becomes ready, and gives it errors of streams (`wasi:io`). */

import { maxTimerMs } from '@svc/kit/units.ts';
import type { Arrival, RemoteWait } from '../outbound/remote-messages.ts';
import { HostObject } from './retained.ts';

/** `wasi:io`: what a stream or a pollable does is left to what stands behind it. */

export class IoError extends HostObject {
  readonly message: string;
  /** What `wasi:filesystem` or `wasi:http` say of it when asked. */
  readonly code: unknown;

  constructor(message: string, code?: unknown) {
    super();
    this.message = message;
    this.code = code;
  }

  toDebugString(): string {
    return this.message;
  }
}

export interface Readiness {
  /** Whether it is ready now, without waiting. */
  isReady(): boolean;
  /** When it will be ready by itself, in nanoseconds of the monotonic clock. */
  readonly dueAt?: bigint;
  /** What the session is to be asked about. */
  readonly remote?: GuestWait;
}

/** A wait for something that the session has. */
export interface GuestWait extends RemoteWait {
  /** Receives what comes of it together with the end of the wait. */
  readonly keep: (arrival: Arrival) => void;
}

/** At once: the same may be named any number of times. */
const maxWaits = 10_000;

export const alwaysReady: Readiness = { isReady: () => true };

/** Where the process sleeps until something is ready. */
export interface WaitingRoom {
  now(): bigint;
  sleep(ms: number): void;
  /** Indexes of the waits that are over; none when the time is. Forever when `timeoutMs` is null. */
  awaitRemote(waits: readonly GuestWait[], timeoutMs: number | null): readonly number[];
}

export class Pollable extends HostObject {
  readonly readiness: Readiness;
  readonly #room: WaitingRoom;

  constructor(readiness: Readiness, room: WaitingRoom) {
    super();
    this.readiness = readiness;
    this.#room = room;
  }

  ready(): boolean {
    return pollOnce([this], this.#room, 0).length > 0;
  }

  block(): void {
    waitForAny([this], this.#room);
  }
}

export function waitForAny(pollables: readonly Pollable[], room: WaitingRoom): Uint32Array {
  if (pollables.length === 0) throw new Error('poll was called with nothing to wait for');
  if (pollables.length > maxWaits) throw new Error(`poll was called with more than ${maxWaits} things to wait for`);
  for (;;) {
    const ready = pollOnce(pollables, room, null);
    if (ready.length > 0) return Uint32Array.from(ready);
  }
}

/** Indexes of the ready ones; empty when `limitMs` passed or the earliest clock is not due after all. */
function pollOnce(pollables: readonly Pollable[], room: WaitingRoom, limitMs: number | null): number[] {
  const ready = indexesOf(pollables, ({ readiness }) => readiness.isReady());
  if (ready.length > 0) return ready;
  const timeoutMs = limitMs ?? untilEarliest(pollables, room.now());
  const remote = indexesOf(pollables, ({ readiness }) => readiness.remote !== undefined);
  const waits = remote.flatMap((index) => pollables[index]?.readiness.remote ?? []);
  if (waits.length > 0) return room.awaitRemote(waits, timeoutMs).map((hit) => remote[hit] ?? 0);
  if (timeoutMs === null) throw new Error('poll was called on something that never becomes ready');
  if (timeoutMs > 0) room.sleep(timeoutMs);
  return indexesOf(pollables, ({ readiness }) => readiness.isReady());
}

function untilEarliest(pollables: readonly Pollable[], now: bigint): number | null {
  const due = pollables.flatMap(({ readiness }) => readiness.dueAt ?? []);
  const [first, ...rest] = due;
  if (first === undefined) return null;
  const earliest = rest.reduce((least, at) => (at < least ? at : least), first);
  return Math.min(maxTimerMs, Math.max(0, Number(earliest - now) / 1e6));
}

function indexesOf<Item>(items: readonly Item[], matches: (item: Item) => boolean): number[] {
  return items.flatMap((item, index) => (matches(item) ? [index] : []));
}
