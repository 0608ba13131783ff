import { describe, expect, it } from 'vitest';

import { Cell, follow, watch } from './cell.ts';

describe('a cell', () => {
  it('informs each reader of its next change, once', () => {
    const cell = new Cell(1);
    const told: number[] = [];
    const { value } = watch(
      () => cell.value * 10,
      () => told.push(cell.value),
    );
    cell.value = 1;
    cell.value = 2;
    cell.value = 3;
    expect([value, told]).toEqual([10, [2]]);
  });

  it('skips a watcher that has stopped, and a reader that never watched', () => {
    const cell = new Cell('a');
    const told: string[] = [];
    const { stop } = watch(
      () => cell.value,
      () => told.push('stopped'),
    );
    stop();
    watch(
      () => 1,
      () => told.push(cell.value),
    );
    void cell.value;
    cell.value = 'b';
    expect(told).toEqual([]);
  });

  it('wakes a watcher through what read it last', () => {
    const [which, one, other] = [new Cell('one'), new Cell(1), new Cell(100)];
    const seen: number[] = [];
    const stop = follow(
      () => (which.value === 'one' ? one.value : other.value),
      (value) => seen.push(value),
    );
    other.value = 200;
    one.value = 2;
    which.value = 'other';
    one.value = 3;
    other.value = 300;
    stop();
    other.value = 400;
    expect(seen).toEqual([1, 2, 200, 300]);
  });

  it('has the innermost watcher as its reader alone', () => {
    const [inner, outer] = [new Cell(0), new Cell(0)];
    const told: string[] = [];
    watch(
      () => {
        const before = outer.value;
        watch(
          () => inner.value,
          () => told.push('inner'),
        );
        return before;
      },
      () => told.push('outer'),
    );
    inner.value = 1;
    outer.value = 1;
    expect(told).toEqual(['inner', 'outer']);
  });

  it('has no watcher that has thrown', () => {
    const cell = new Cell(0);
    const told: string[] = [];
    const fails = (): never => {
      throw new Error(`read ${cell.value}`);
    };
    expect(() => watch(fails, () => told.push('failed'))).toThrow('read 0');
    void cell.value;
    cell.value = 1;
    expect(told).toEqual([]);
  });
});
