import { describe, expect, it } from 'vitest';

import { drawPlots } from '../../bench/support/plot.mjs';

const plot = {
  title: 'Turns & more',
  x: 'turns',
  unit: 'ms',
  points: [
    [10, 3],
    [250, 7.5],
  ] as const,
};

/** What the picture says at each point, and how high it draws it. */
function pointsOf(picture: string): [string, number][] {
  return [...picture.matchAll(/cy="([\d.]+)"[^>]*><title>([^<]+)</g)].map(([, y = '', said = '']) => [said, Number(y)]);
}

describe('the picture of costs', () => {
  it('has each point of each plot, a larger figure higher', () => {
    const points = pointsOf(drawPlots([plot, { ...plot, title: 'Files' }], 'a note'));
    expect(points.map(([said]) => said)).toEqual(['10: 3', '250: 7.5', '10: 3', '250: 7.5']);
    const [low, high] = points.map(([, y]) => y);
    expect(high).toBeLessThan(low ?? 0);
    expect(high).toBeGreaterThan(40);
  });

  it('ends its axes at short numbers, none below a figure', () => {
    const marks = [...drawPlots([plot], '').matchAll(/text-anchor="(?:end|middle)" fill="#666">([^<]+)</g)].map(
      ([, mark]) => mark,
    );
    expect(marks).toEqual(['0', '0', '4', '200', '8', '400']);
  });

  it('draws figures that are all zero, and escapes what it writes', () => {
    const picture = drawPlots([{ ...plot, points: [[1, 0]] }], 'a < b');
    expect(picture).not.toMatch(/NaN|Infinity|& | < /);
    expect(picture).toContain('Turns &amp; more');
  });
});
