/** Gives components the clocks of this machine (`wasi:clocks`). */

import { Pollable, type WaitingRoom } from './io.ts';

interface DateTime {
  readonly seconds: bigint;
  readonly nanoseconds: number;
}

interface MonotonicClock {
  now(): bigint;
  resolution(): bigint;
  /** Its name in WASI 0.3. */
  getResolution(): bigint;
  subscribeInstant(when: bigint): Pollable;
  subscribeDuration(duration: bigint): Pollable;
}

/** `wasi:clocks/monotonic-clock` */
export function monotonicClock(room: WaitingRoom): MonotonicClock {
  const at = (dueAt: bigint): Pollable => new Pollable({ dueAt, isReady: () => dueAt <= room.now() }, room);
  return {
    now: () => room.now(),
    resolution: () => 1n,
    getResolution: () => 1n,
    subscribeInstant: at,
    subscribeDuration: (duration) => at(room.now() + duration),
  };
}

/** `wasi:clocks/wall-clock` */
export const wallClock = {
  now: (): DateTime => dateTime(BigInt(Date.now()) * 1_000_000n),
  resolution: (): DateTime => dateTime(1_000_000n),
};

/** `wasi:clocks/system-clock`, which is of WASI 0.3. */
export const systemClock = { now: wallClock.now, getResolution: (): bigint => 1_000_000n };

export function dateTime(nanoseconds: bigint): DateTime {
  return { seconds: nanoseconds / 1_000_000_000n, nanoseconds: Number(nanoseconds % 1_000_000_000n) };
}
