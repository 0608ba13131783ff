import { closeSync, fstatSync, openSync } from 'node:fs';
import { afterEach, describe, expect, it } from 'vitest';

import { PipePool } from './pipe-pool.ts';

const opened: number[] = [];

/** Anything that can be closed does for a pipe. */
function descriptors(count: number): readonly number[] {
  const made = Array.from({ length: count }, () => openSync('/dev/null', 'r'));
  opened.push(...made);
  return made;
}

function poolOf(make: () => Promise<readonly number[]>): PipePool {
  return new PipePool({ make, areNamed: false });
}

afterEach(() => {
  for (const descriptor of opened.splice(0)) if (isOpen(descriptor)) closeSync(descriptor);
});

function isOpen(descriptor: number): boolean {
  try {
    fstatSync(descriptor);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EBADF') throw error;
    return false;
  }
}

describe('a pool of pipes', () => {
  it('gives each of them once, and makes more when it runs low', async () => {
    let times = 0;
    const pool = poolOf(async () => {
      times += 1;
      return descriptors(20);
    });
    const taken = [await pool.take(3), await pool.take(2), await pool.take(20)].flat();
    expect(taken).not.toContain(null);
    expect(new Set(taken).size).toBe(25);
    await pool.close();
    expect(times).toBe(3);
  });

  it('has them made once for those who ask at the same time', async () => {
    let times = 0;
    const pool = poolOf(async () => {
      times += 1;
      return descriptors(40);
    });
    const taken = await Promise.all([pool.take(2), pool.take(2), pool.take(3), pool.fill()]);
    expect(times).toBe(1);
    expect(new Set(taken.flat()).size).toBe(8);
    await pool.close();
  });

  it('makes no more while it has enough, however often it is asked', async () => {
    let times = 0;
    const pool = poolOf(async () => {
      times += 1;
      return descriptors(20);
    });
    for (let asked = 0; asked < 5; asked += 1) await pool.fill();
    expect(times).toBe(1);
    await pool.take(5);
    await pool.fill();
    expect(times).toBe(2);
    await pool.close();
  });

  it('has none where none can be made, and asks again the next time', async () => {
    const answers = [[], descriptors(20)];
    const pool = poolOf(async () => answers.shift() ?? []);
    expect(await pool.take(2)).toBe(null);
    expect(await pool.take(2)).toHaveLength(2);
    await pool.close();
  });

  it('closes what nobody took, also what comes while it is closed', async () => {
    const [first, late] = [descriptors(20), descriptors(20)];
    const answers = [first, late];
    const pool = poolOf(async () => answers.shift() ?? []);
    const taken = await pool.take(5);
    await pool.close();
    expect([...first, ...late].filter(isOpen)).toEqual(taken);
    expect(await pool.take(1)).toBe(null);
    expect(answers).toEqual([]);
  });
});
