import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, it } from 'vitest';

import { earlyRandom } from './system-clock.ts';
import { eachFolder } from '../../../test/support/each-folder.ts';

let folder: string;
eachFolder('svc-random-', (made) => {
  folder = made;
});

/** A device of known bytes. */
function device(bytes: readonly number[]): string {
  const path = join(folder, 'device');
  writeFileSync(path, Buffer.from(bytes));
  return path;
}

describe('random bytes of a start', () => {
  it('come from the device, each given once', () => {
    const random = earlyRandom(device([1, 2, 3, 4, 5, 6]));
    expect([...random(2)]).toEqual([1, 2]);
    expect([...random(3)]).toEqual([3, 4, 5]);
  });

  it('go on when those of the device are used up', () => {
    const random = earlyRandom(device([1, 2, 3, 4]));
    random(4);
    const more = random(16);
    expect(more).toHaveLength(16);
    expect([...more]).not.toEqual([...random(16)]);
  });

  it('come in the number that was asked for, when the device gives fewer', () => {
    expect(earlyRandom(device([7]))(16)).toHaveLength(16);
  });

  it('come without a device too', () => {
    expect(earlyRandom(join(folder, 'none'))(16)).toHaveLength(16);
  });

  it('differ from one start to the next', () => {
    expect([...earlyRandom()(16)]).not.toEqual([...earlyRandom()(16)]);
  });

  it('share no byte, however many are asked for', () => {
    const random = earlyRandom();
    const taken = new Map<ArrayBufferLike, number>();
    for (let count = 0; count < 5000; count += 1) {
      const { buffer, byteOffset, byteLength } = random(1 + (count % 90));
      // Each lies behind the one before it in the same memory.
      expect(byteOffset).toBeGreaterThanOrEqual(taken.get(buffer) ?? 0);
      taken.set(buffer, byteOffset + byteLength);
    }
    expect(taken.size).toBeGreaterThan(10);
  });
});
