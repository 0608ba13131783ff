/** The clock that every program runs with. */

import { randomBytes } from 'node:crypto';
import { closeSync, openSync, readSync } from 'node:fs';

import type { Clock } from './clock.ts';

/** The machine's own clock and randomness, for every program. */
export const systemClock: Clock = {
  now: () => Date.now(),
  // `performance` would be loaded for it, before a capsule listens.
  monotonicMs: () => {
    const [seconds, nanoseconds] = process.hrtime();
    return seconds * 1000 + nanoseconds / 1e6;
  },
  randomBytes: earlyRandom(),
  after: (ms, callback) => {
    const timer = setTimeout(callback, ms);
    return () => clearTimeout(timer);
  },
};

/** For the ids of a start, one for the session and one for each of its first trace lines, and the names of its temporary files. */
const earlyBytes = 512;
/** Ids are made all the time, and a call of `node:crypto` for each would be a tenth of what a line of a trace costs. */
const pooledBytes = 4096;
const maxOfPool = 64;

/**
 * Random bytes of the kernel. The first come from its device: `node:crypto` asks the same source, and loading it would be a twentieth of a
 * start. All later ones come from `node:crypto`, and the first too where there is no such device. Small requests share one block. No byte is given out
 * twice.
 */
export function earlyRandom(device = '/dev/urandom'): (size: number) => Uint8Array {
  let pool: Buffer | null = null;
  return (size) => {
    pool ??= readDevice(device);
    if (size > pool.length) {
      if (size > maxOfPool) return randomBytes(size);
      pool = randomBytes(pooledBytes);
    }
    const taken = pool.subarray(0, size);
    pool = pool.subarray(size);
    return taken;
  };
}

function readDevice(device: string): Buffer {
  const bytes = Buffer.alloc(earlyBytes);
  let file: number;
  try {
    file = openSync(device, 'r');
  } catch {
    // Not every root directory has devices.
    return Buffer.alloc(0);
  }
  try {
    return bytes.subarray(0, readSync(file, bytes));
  } finally {
    closeSync(file);
  }
}
