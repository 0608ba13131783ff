import { describe, expect, it } from 'vitest';

import { alwaysReady, Pollable, type Readiness, waitForAny, type WaitingRoom } from './io.ts';

/** A room whose clock moves when it is slept in, and whose remote events are over after a while. */
function testRoom({ remoteAfterMs = Infinity }: { readonly remoteAfterMs?: number } = {}): WaitingRoom & {
  slept: number[];
} {
  const slept: number[] = [];
  let now = 0;
  return {
    slept,
    now: () => BigInt(now) * 1_000_000n,
    sleep: (ms) => {
      slept.push(ms);
      now += ms;
    },
    awaitRemote: (waits, timeoutMs) => {
      const until = Math.min(now + (timeoutMs ?? Infinity), Math.max(now, remoteAfterMs));
      now = until;
      return until >= remoteAfterMs ? waits.map((_, index) => index) : [];
    },
  };
}

function timer(ms: number, room: WaitingRoom): Readiness {
  const dueAt = BigInt(ms) * 1_000_000n;
  return { dueAt, isReady: () => dueAt <= room.now() };
}

const remote: Readiness = { isReady: () => false, remote: { exchange: 1, event: 'body', keep: () => {} } };

function poll(room: WaitingRoom, ...readiness: readonly Readiness[]): number[] {
  return Array.from(
    waitForAny(
      readiness.map((one) => new Pollable(one, room)),
      room,
    ),
  );
}

describe('poll', () => {
  it('returns what is ready without waiting', () => {
    const room = testRoom();
    expect(poll(room, timer(50, room), alwaysReady, remote, alwaysReady)).toEqual([1, 3]);
    expect(room.slept).toEqual([]);
  });

  it('sleeps until the earliest clock', () => {
    const room = testRoom();
    expect(poll(room, timer(80, room), timer(30, room))).toEqual([1]);
    expect(room.slept).toEqual([30]);
  });

  it('returns what is remote when that comes first, and the clock when that does', () => {
    const early = testRoom({ remoteAfterMs: 10 });
    expect(poll(early, timer(50, early), remote)).toEqual([1]);
    const late = testRoom({ remoteAfterMs: 90 });
    expect(poll(late, timer(50, late), remote)).toEqual([0]);
  });

  it('refuses to wait for nothing, or for what never comes', () => {
    const room = testRoom();
    expect(() => poll(room)).toThrow('poll was called with nothing to wait for');
    expect(() => poll(room, { isReady: () => false })).toThrow('poll was called on something that never becomes ready');
  });

  it('says at once whether a single pollable is ready', () => {
    const room = testRoom({ remoteAfterMs: 10 });
    expect([new Pollable(remote, room).ready(), new Pollable(alwaysReady, room).ready()]).toEqual([false, true]);
    new Pollable(remote, room).block();
    expect(room.now()).toBe(10_000_000n);
  });
});
