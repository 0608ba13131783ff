import { describe, expect, it } from 'vitest';

import { preview } from './checked.ts';

describe('the preview of a value', () => {
  it('has its values to four levels, those of objects with their keys', () => {
    expect(preview({ a: [1, 'b', { c: null }], d: { e: { f: { g: {} } } } })).toBe('a: 1 b c: null, d: e: f: g: …');
  });

  it('has the length that a row shows', () => {
    expect(preview(['x'.repeat(100), 'y'.repeat(100)])).toBe(`${'x'.repeat(100)} ${'y'.repeat(59)}`);
  });

  it('looks at 200 values, however many of them show nothing', () => {
    const looked: number[] = [];
    const list = (length: number, inner: (at: number) => unknown): unknown =>
      Array.from({ length }, (_, at) => inner(at));
    const counted = new Proxy(list(1000, () => []) as unknown[], {
      get: (target, key, self) => {
        if (typeof key === 'string' && /^\d+$/.test(key)) looked.push(Number(key));
        return Reflect.get(target, key, self) as unknown;
      },
      ownKeys: () => {
        throw new Error('all places of the list were made texts');
      },
    });
    expect(preview(counted)).toBe('');
    expect(looked.length).toBe(200);
    const nested = list(150, () => list(10, () => counted));
    looked.length = 0;
    expect(preview(nested)).toBe('');
    expect(looked.length).toBe(198);
    expect(preview([...(list(199, () => []) as unknown[]), 'shown', 'not shown'])).toBe('shown');
  });

  it('looks at 200 values of an object', () => {
    const many = Object.fromEntries(Array.from({ length: 300 }, (_, at) => [`${at}`, '']));
    expect(preview({ a: many, b: 1 }, 10_000).endsWith('198: ')).toBe(true);
  });
});
