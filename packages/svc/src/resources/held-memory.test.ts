import { describe, expect, it } from 'vitest';

import { HeldMemory } from './held-memory.ts';

const mebibyte = 1024 * 1024;

describe('held memory', () => {
  it('is enough for what is asked, and of few sizes', () => {
    const memory = new HeldMemory();
    const sizes = [1, 65_537, 131_072, 131_073, mebibyte, mebibyte + 1, 8 * mebibyte];
    expect(sizes.map((size) => memory.take(size)?.length)).toEqual([
      131_072, 131_072, 131_072, 262_144, 1_048_576, 2_097_152, 8_388_608,
    ]);
  });

  it('ends at 32 MiB, until some is given back', () => {
    const memory = new HeldMemory();
    const taken = Array.from({ length: 32 }, () => memory.take(mebibyte));
    expect(taken).not.toContain(undefined);
    expect(memory.take(1)).toBeUndefined();
    memory.giveBack(taken[0] ?? Buffer.alloc(0), false);
    expect(memory.take(1)?.length).toBe(131_072);
  });

  it('is used again when it is free, up to 8 MiB of it', () => {
    const memory = new HeldMemory();
    const taken = Array.from({ length: 10 }, () => memory.take(mebibyte) ?? Buffer.alloc(0));
    for (const buffer of taken) memory.giveBack(buffer, true);
    const again = Array.from({ length: 10 }, () => memory.take(mebibyte) ?? Buffer.alloc(0));
    expect(again.filter((buffer) => taken.includes(buffer))).toHaveLength(8);
    expect(new Set(again).size).toBe(10);
  });

  it('that somebody may still look at is not used again', () => {
    const memory = new HeldMemory();
    const taken = memory.take(mebibyte) ?? Buffer.alloc(0);
    memory.giveBack(taken, false);
    expect(memory.take(mebibyte)).not.toBe(taken);
  });
});
