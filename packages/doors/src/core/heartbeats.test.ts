import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { FakeClock } from '../../../../test/support/fake-clock.ts';
import { Heartbeats, type HeartbeatMember } from './heartbeats.ts';

/** Counts the timers that are set, and calls none back while the thread is busy. */
class BusyClock extends FakeClock {
  armed = 0;
  #isBusy = false;
  readonly #late = new Set<() => void>();

  override after(ms: number, callback: () => void): () => void {
    this.armed += 1;
    const due = (): void => {
      if (this.#isBusy) {
        this.#late.add(due);
        return;
      }
      this.armed -= 1;
      callback();
    };
    const cancelTimer = super.after(ms, due);
    return () => {
      this.armed -= 1;
      this.#late.delete(due);
      cancelTimer();
    };
  }

  /** Time goes by and `meanwhile` happens before the thread is free for its timers. */
  busy(ms: number, meanwhile: () => void): void {
    this.#isBusy = true;
    this.advance(ms);
    meanwhile();
    this.#isBusy = false;
    const late = [...this.#late];
    this.#late.clear();
    for (const due of late) due();
  }
}

/** Notes the second, counted from the first it saw, of each of its beats. */
class Member implements HeartbeatMember {
  readonly beats: number[] = [];
  readonly #clock: FakeClock;
  readonly #openedMs: number;

  constructor(clock: FakeClock) {
    this.#clock = clock;
    this.#openedMs = clock.monotonicMs();
  }

  heartbeat(): void {
    this.beats.push((this.#clock.monotonicMs() - this.#openedMs) / 1000);
  }
}

function joined(heartbeats: Heartbeats, clock: FakeClock): Member {
  const member = new Member(clock);
  heartbeats.join(member);
  return member;
}

function advanceSeconds(clock: FakeClock, seconds: number): void {
  for (let second = 0; second < seconds; second += 1) clock.advance(1000);
}

describe('heartbeats', () => {
  it('come every 15 seconds from the joining of each [D1-BEAT-02, D1-LIMIT-03]', () => {
    const clock = new FakeClock();
    const heartbeats = new Heartbeats(clock, 15_000);
    const first = joined(heartbeats, clock);
    advanceSeconds(clock, 4);
    const second = joined(heartbeats, clock);
    advanceSeconds(clock, 7);
    const third = joined(heartbeats, clock);
    advanceSeconds(clock, 50);
    expect(first.beats).toEqual([15, 30, 45, 60]);
    expect(second.beats).toEqual([15, 30, 45]);
    expect(third.beats).toEqual([15, 30, 45]);
  });

  it('do not come a millisecond early', () => {
    const clock = new FakeClock();
    const member = joined(new Heartbeats(clock, 15_000), clock);
    clock.advance(14_999);
    expect(member.beats).toEqual([]);
    clock.advance(1);
    expect(member.beats).toEqual([15]);
    clock.advance(14_999);
    expect(member.beats).toEqual([15]);
    clock.advance(1);
    expect(member.beats).toEqual([15, 30]);
  });

  it('come once when they came due while the thread was busy, and then in step again [D1-BEAT-05]', () => {
    const clock = new FakeClock();
    const member = joined(new Heartbeats(clock, 15_000), clock);
    clock.advance(52_000);
    expect(member.beats).toEqual([52]);
    advanceSeconds(clock, 30);
    expect(member.beats).toEqual([52, 60, 75]);
  });

  it('keep each in its own step after the thread was busy for more than an interval [D1-BEAT-02]', () => {
    const clock = new FakeClock();
    const heartbeats = new Heartbeats(clock, 15_000);
    const first = joined(heartbeats, clock);
    clock.advance(1000);
    const second = joined(heartbeats, clock);
    // The first has missed two beats, the second one: their order of coming due changes.
    clock.advance(29_500);
    expect([first.beats, second.beats]).toEqual([[30.5], [29.5]]);
    clock.advance(500);
    advanceSeconds(clock, 30);
    expect(first.beats).toEqual([30.5, 45, 60]);
    expect(second.beats).toEqual([29.5, 30, 45, 60]);
  });

  it('stop for one that left, also when it leaves while others beat', () => {
    const clock = new FakeClock();
    const heartbeats = new Heartbeats(clock, 15_000);
    const stays = joined(heartbeats, clock);
    const leaves = joined(heartbeats, clock);
    heartbeats.join({ heartbeat: () => heartbeats.leave(leaves) });
    advanceSeconds(clock, 30);
    expect(stays.beats).toEqual([15, 30]);
    expect(leaves.beats).toEqual([15]);
  });

  it('hold one timer while there is a member, and none after the last has left', () => {
    const clock = new BusyClock();
    const heartbeats = new Heartbeats(clock, 15_000);
    expect(clock.armed).toBe(0);
    const first = joined(heartbeats, clock);
    const second = joined(heartbeats, clock);
    expect(clock.armed).toBe(1);
    advanceSeconds(clock, 100);
    expect(clock.armed).toBe(1);
    heartbeats.leave(first);
    expect(clock.armed).toBe(1);
    heartbeats.leave(second);
    expect(clock.armed).toBe(0);
    heartbeats.leave(second);
    joined(heartbeats, clock);
    expect(clock.armed).toBe(1);
  });

  it('hold no timer after the last member left in its own beat', () => {
    const clock = new BusyClock();
    const heartbeats = new Heartbeats(clock, 15_000);
    const leaves: HeartbeatMember = { heartbeat: () => heartbeats.leave(leaves) };
    heartbeats.join(leaves);
    clock.advance(15_000);
    expect(clock.armed).toBe(0);
  });

  it('keep their step when another joins while the thread is too busy for them [D1-BEAT-02]', () => {
    const clock = new BusyClock();
    const heartbeats = new Heartbeats(clock, 15_000);
    const first = joined(heartbeats, clock);
    const others: Member[] = [];
    clock.busy(29_000, () => others.push(joined(heartbeats, clock)));
    expect(first.beats).toEqual([29]);
    advanceSeconds(clock, 16);
    expect(first.beats).toEqual([29, 30, 45]);
    expect(others[0]?.beats).toEqual([15]);
    expect(clock.armed).toBe(1);
  });

  it('come as each client would get them from a timer of its own, whichever clients come and go and however busy the thread is [D1-BEAT-02, D1-BEAT-05]', () => {
    const step = fc.record({ joins: fc.nat(2), leaves: fc.option(fc.nat(5)), ms: fc.integer({ min: 1, max: 40_000 }) });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
        const clock = new BusyClock();
        const heartbeats = new Heartbeats(clock, 15_000);
        const all: { readonly member: Member; readonly openedMs: number; readonly expected: number[] }[] = [];
        const present: typeof all = [];
        for (const { joins, leaves, ms } of steps) {
          const beforeMs = clock.monotonicMs();
          const newcomers: typeof all = [];
          clock.busy(ms, () => {
            for (let each = 0; each < joins; each += 1) {
              newcomers.push({ member: joined(heartbeats, clock), openedMs: clock.monotonicMs(), expected: [] });
            }
          });
          const nowMs = clock.monotonicMs();
          for (const { openedMs, expected } of present) {
            const beatsUntil = (atMs: number): number => Math.floor((atMs - openedMs) / 15_000);
            if (beatsUntil(nowMs) > beatsUntil(beforeMs)) expected.push((nowMs - openedMs) / 1000);
          }
          all.push(...newcomers);
          present.push(...newcomers);
          const [gone] = leaves === null ? [] : present.splice(leaves, 1);
          if (gone !== undefined) heartbeats.leave(gone.member);
          expect(clock.armed).toBe(present.length === 0 ? 0 : 1);
        }
        for (const { member, expected } of all) expect(member.beats).toEqual(expected);
      }),
      { numRuns: 500 },
    );
  });
});
