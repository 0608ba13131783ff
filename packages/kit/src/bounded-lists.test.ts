import { describe, expect, it } from 'vitest';
import * as z from 'zod/mini';

import { listOf, listUntilBad } from './bounded-lists.ts';

const most = Array.from({ length: 16_384 }, () => 0);

describe('a list of an untrusted side', () => {
  it('has at most 16,384 items', () => {
    const numbers = listOf(z.number());
    expect(numbers.safeParse(most).success).toBe(true);
    expect(numbers.safeParse([...most, 0]).success).toBe(false);
    expect(numbers.safeParse(['text']).success).toBe(false);
  });

  it('counts up to the first item that does not fit, at any length', () => {
    const points = listUntilBad(z.object({ x: z.number('no number') }));
    const good = Array.from({ length: 100_000 }, () => ({ x: 1 }));
    expect(points.safeParse(good)).toEqual({ success: true, data: good });
    const { error } = points.safeParse([{ x: 1 }, { x: 'text' }, ...Array.from({ length: 100_000 }, () => 'bad')]);
    expect(error?.issues).toEqual([{ code: 'custom', message: 'no number', path: [1, 'x'] }]);
  });
});
