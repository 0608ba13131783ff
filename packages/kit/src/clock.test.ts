import { describe, expect, it } from 'vitest';

import { FakeClock } from '../../../test/support/fake-clock.ts';
import { atMost, elapsedMs, pause, randomBelow } from './clock.ts';
import { systemClock } from './system-clock.ts';

const fake = new FakeClock();
const clocks = [
  {
    which: "the machine's clock",
    clock: systemClock,
    let: async (ms: number) => await new Promise<void>((resolve) => void setTimeout(resolve, ms)),
  },
  {
    which: 'the clock of tests',
    clock: fake,
    let: (ms: number) => {
      fake.advance(ms);
      return Promise.resolve();
    },
  },
];

describe.each(clocks)('$which', ({ clock, let: pass }) => {
  it('counts Unix milliseconds', () => {
    expect(clock.now()).toBeGreaterThan(Date.UTC(2025, 0));
    expect(clock.now()).toBeLessThan(Date.UTC(2100, 0));
  });

  it('measures the time that passes in milliseconds, and never falls', async () => {
    const readings = [clock.monotonicMs()];
    for (let reading = 1; reading < 1000; reading += 1) readings.push(clock.monotonicMs());
    expect(readings).toEqual(readings.toSorted((a, b) => a - b));
    const startedMs = clock.monotonicMs();
    await pass(50);
    // A timer may come up to a millisecond early.
    expect(clock.monotonicMs() - startedMs).toBeGreaterThan(48);
    expect(clock.monotonicMs() - startedMs).toBeLessThan(30_000);
  });

  it('calls back once, in the order of what is due, and never within the call that asks for it', async () => {
    const called: string[] = [];
    const isOver = new Promise<void>((resolve) => {
      clock.after(40, () => {
        called.push('late');
        resolve();
      });
    });
    clock.after(1, () => called.push('early'));
    clock.after(0, () => called.push('at once'));
    expect(called).toEqual([]);
    await pass(40);
    await isOver;
    await pass(40);
    expect(called.toSorted()).toEqual(['at once', 'early', 'late']);
    expect(called.at(-1)).toBe('late');
  });

  it('does not call back what was taken back, which may be done twice and too late', async () => {
    const called: string[] = [];
    const cancelTimer = clock.after(1, () => called.push('taken back'));
    const takeBackLate = clock.after(1, () => called.push('kept'));
    cancelTimer();
    cancelTimer();
    await pass(20);
    takeBackLate();
    await pass(20);
    expect(called).toEqual(['kept']);
  });

  it.each([1, 16, 32, 300])('draws %i random bytes', (size) => {
    expect(clock.randomBytes(size)).toHaveLength(size);
  });

  it('draws other bytes each time, and leaves those that were drawn as they are', () => {
    const first = clock.randomBytes(16);
    const copy = [...first];
    const drawn = Array.from({ length: 40 }, () => clock.randomBytes(16).join());
    expect(new Set([first.join(), ...drawn]).size).toBe(41);
    expect([...first]).toEqual(copy);
  });
});

describe('what is measured', () => {
  it('comes in whole milliseconds', () => {
    expect(elapsedMs({ monotonicMs: () => 12.4 }, 10)).toBe(2);
    expect(elapsedMs({ monotonicMs: () => 12.5 }, 10)).toBe(3);
  });

  it('never gets negative', () => {
    expect(elapsedMs({ monotonicMs: () => 10 }, 12)).toBe(0);
  });
});

describe('a pause', () => {
  it('ends when its time has passed', async () => {
    const clock = new FakeClock();
    const paused = pause(clock, 100, new AbortController().signal);
    clock.advance(100);
    await expect(paused).resolves.toBeUndefined();
  });

  it('ends with the reason of a signal that is aborted, before it or in it, and leaves no timer', async () => {
    const stop = new AbortController();
    const timers = new Set<object>();
    const clock = {
      after: (): (() => void) => {
        const timer = {};
        timers.add(timer);
        return () => void timers.delete(timer);
      },
    };
    const paused = pause(clock, 100, stop.signal);
    expect(timers.size).toBe(1);
    stop.abort(new Error('enough'));
    await expect(paused).rejects.toThrow('enough');
    await expect(pause(clock, 100, stop.signal)).rejects.toThrow('enough');
    expect(timers.size).toBe(0);
  });
});

describe('work that is waited for at most so long', () => {
  it('lasts no longer for its caller', async () => {
    const clock = new FakeClock();
    const waited = atMost(clock, 100, new Promise(() => {}));
    clock.advance(100);
    await expect(waited).resolves.toBeUndefined();
  });

  it('ends or fails before that', async () => {
    await expect(atMost(new FakeClock(), 100, Promise.resolve('done'))).resolves.toBeUndefined();
    await expect(atMost(new FakeClock(), 100, Promise.reject(new Error('lost')))).rejects.toThrow('lost');
  });
});

describe('a number by chance', () => {
  it('stays whole and below its end', () => {
    const source = (text: string) => ({ randomBytes: () => Buffer.from(text, 'hex') });
    expect(randomBelow(source('07000000'), 5)).toBe(2);
    expect(randomBelow(source('ffffffff'), 2.5)).toBe(1);
    expect(randomBelow(source('ffffffff'), 1)).toBe(0);
  });
});
