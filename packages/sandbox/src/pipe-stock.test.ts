import { closeSync, fstatSync, openSync } from 'node:fs';
import { afterEach, describe, expect, it } from 'vitest';

import { PipeStock } from './pipe-stock.ts';

const opened: number[] = [];

/** Anything that can be closed does for a pipe. */
function descriptors(count: number): readonly number[] {
  const made = Array.from({ length: count }, () => openSync('/dev/null', 'r'));
  opened.push(...made);
  return made;
}

function stockOf(make: () => Promise<readonly number[]>): PipeStock {
  return new PipeStock({ make, areNamed: false });
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

describe('a stock of pipes', () => {
  it('gives each of them once, and makes more when it runs low', async () => {
    let times = 0;
    const stock = stockOf(async () => {
      times += 1;
      return descriptors(20);
    });
    const taken = [await stock.take(3), await stock.take(2), await stock.take(20)].flat();
    expect(taken).not.toContain(null);
    expect(new Set(taken).size).toBe(25);
    await stock.close();
    expect(times).toBe(3);
  });

  it('has them made once for those who ask at the same time', async () => {
    let times = 0;
    const stock = stockOf(async () => {
      times += 1;
      return descriptors(40);
    });
    const taken = await Promise.all([stock.take(2), stock.take(2), stock.take(3), stock.fill()]);
    expect(times).toBe(1);
    expect(new Set(taken.flat()).size).toBe(8);
    await stock.close();
  });

  it('makes no more while it has enough, however often it is asked', async () => {
    let times = 0;
    const stock = stockOf(async () => {
      times += 1;
      return descriptors(20);
    });
    for (let asked = 0; asked < 5; asked += 1) await stock.fill();
    expect(times).toBe(1);
    await stock.take(5);
    await stock.fill();
    expect(times).toBe(2);
    await stock.close();
  });

  it('has none where none can be made, and asks again the next time', async () => {
    const answers = [[], descriptors(20)];
    const stock = stockOf(async () => answers.shift() ?? []);
    expect(await stock.take(2)).toBe(null);
    expect(await stock.take(2)).toHaveLength(2);
    await stock.close();
  });

  it('closes what nobody took, also what comes while it is closed', async () => {
    const [first, late] = [descriptors(20), descriptors(20)];
    const answers = [first, late];
    const stock = stockOf(async () => answers.shift() ?? []);
    const taken = await stock.take(5);
    await stock.close();
    expect([...first, ...late].filter(isOpen)).toEqual(taken);
    expect(await stock.take(1)).toBe(null);
    expect(answers).toEqual([]);
  });
});
