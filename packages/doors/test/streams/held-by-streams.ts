import { readdirSync } from 'node:fs';
import { setImmediate as turnOfTheEventLoop } from 'node:timers/promises';

import type { FrameSink } from '@svc/session/stream/frame-batches.ts';
import type { SessionFixture } from '../../../../test/support/session-fixture.ts';

/** What the event streams of a session hold: the readers subscribed and the timers set on its clock. */
export class HeldByStreams {
  readonly #readers = new Set<FrameSink>();
  readonly #timers = new Set<object>();
  /** Readers that were ever subscribed. */
  served = 0;

  constructor({ stream, clock }: SessionFixture) {
    const subscribe = stream.subscribe.bind(stream);
    const unsubscribe = stream.unsubscribe.bind(stream);
    const after = clock.after.bind(clock);
    stream.subscribe = (reader) => {
      this.#readers.add(reader);
      this.served += 1;
      subscribe(reader);
    };
    stream.unsubscribe = (reader) => {
      this.#readers.delete(reader);
      unsubscribe(reader);
    };
    clock.after = (ms, callback) => {
      const timer = {};
      this.#timers.add(timer);
      const cancelTimer = after(ms, () => {
        this.#timers.delete(timer);
        callback();
      });
      return () => {
        this.#timers.delete(timer);
        cancelTimer();
      };
    };
  }

  get readers(): number {
    return this.#readers.size;
  }

  get timers(): number {
    return this.#timers.size;
  }

  /** Resolves once exactly this many readers are subscribed. */
  async untilReaders(count: number): Promise<void> {
    while (this.#readers.size !== count) await turnOfTheEventLoop();
  }

  /** Resolves once this many readers have been served in all. */
  async untilServed(count: number): Promise<void> {
    while (this.served < count) await turnOfTheEventLoop();
  }
}

/** Resolves once this process has no more than `count` ends of connections, both ends of each counted. */
export async function untilConnections(count: number): Promise<void> {
  const isEnd = (resource: string): boolean => resource === 'TCPSocketWrap';
  while (process.getActiveResourcesInfo().filter(isEnd).length > count) await turnOfTheEventLoop();
}

export function openDescriptors(): number {
  return readdirSync('/proc/self/fd').length;
}
