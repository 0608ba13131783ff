import { describe, expect, it } from 'vitest';

import { FakeClock } from '../../../../test/support/fake-clock.ts';
import { type RefusalCount, type RefusedRequest, RefusedRequests } from './refused-requests.ts';

class Recorded {
  readonly clock: FakeClock = new FakeClock();
  readonly lines: (RefusedRequest | RefusalCount)[] = [];
  isFull = false;
  readonly refusals: RefusedRequests = new RefusedRequests({
    clock: this.clock,
    write: (event) => !this.isFull && this.lines.push(event) > 0,
  });

  /** Requests for a path of 512 bytes. */
  refuse(times: number, outcome = 'not_found'): void {
    for (let index = 0; index < times; index += 1) {
      this.refusals.add(outcome, 404, () => ({
        event_type: 'resource_read',
        path: 'x'.repeat(512),
        outcome,
        status: 404,
      }));
    }
  }

  get counts(): RefusalCount[] {
    return this.lines.filter((line) => line.event_type === 'resource_refusals');
  }
}

describe('refused requests', () => {
  it('have a line each until those of a minute hold 256 KiB, and are counted from then on, once a minute for each outcome', () => {
    const record = new Recorded();
    record.refuse(10_000);
    record.refuse(10, 'unauthorized');
    const own = record.lines.length;
    // 512 bytes of path and at most 512 of all else.
    expect(own).toBeGreaterThanOrEqual(256);
    expect(own).toBeLessThanOrEqual(512);
    record.clock.advance(60_000);
    expect(record.counts).toEqual([
      { event_type: 'resource_refusals', outcome: 'not_found', status: 404, count: 10_000 - own },
      { event_type: 'resource_refusals', outcome: 'unauthorized', status: 404, count: 10 },
    ]);
    record.refuse(1);
    expect(record.lines.at(-1)).toMatchObject({ event_type: 'resource_read' });
  });

  it('write at most that many lines in any minute, wherever it begins', () => {
    const record = new Recorded();
    const times: number[] = [];
    for (let second = 0; second < 300; second += 1) {
      const before = record.lines.length - record.counts.length;
      record.refuse(7);
      const written = record.lines.length - record.counts.length - before;
      times.push(...Array.from({ length: written }, () => second));
      record.clock.advance(1000);
    }
    for (let from = 0; from < 240; from += 1) {
      expect(times.filter((at) => at >= from && at < from + 60).length * 768).toBeLessThan(257 * 1024);
    }
    expect(times.some((at) => at > 240)).toBe(true);
  });

  it('count while no line can be written, and a later line reports the count', () => {
    const record = new Recorded();
    record.isFull = true;
    record.refuse(3);
    record.clock.advance(60_000);
    record.clock.advance(60_000);
    expect(record.lines).toEqual([]);
    record.isFull = false;
    record.clock.advance(60_000);
    expect(record.lines).toEqual([{ event_type: 'resource_refusals', outcome: 'not_found', status: 404, count: 3 }]);
  });

  it('appear in a last line at the end, and in none after it', () => {
    const record = new Recorded();
    record.refusals.count('host_refused', 421, 5);
    record.refusals.settle();
    record.refusals.count('host_refused', 421, 1);
    record.refusals.close();
    record.clock.advance(120_000);
    expect(record.counts).toEqual([
      { event_type: 'resource_refusals', outcome: 'host_refused', status: 421, count: 5 },
    ]);
  });
});
