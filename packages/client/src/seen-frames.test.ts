import { describe, expect, it } from 'vitest';

import { SeenFrames } from './seen-frames.ts';

/** A frame of one task: its id, and what it says. */
type Told = readonly [id: number, data: string];

/** What is known of each frame of a replay, after these were seen. */
function replayed(seen: readonly Told[], replay: readonly Told[], begins: 'whole' | 'without zeros' = 'whole'): string {
  const frames = new SeenFrames();
  const take = ([id, data]: Told): string => frames.take({ taskId: 'tsk_1', event: 'status', id: BigInt(id), data });
  for (const each of seen) expect(take(each)).toBe('new');
  frames.reconnect();
  if (begins === 'whole') frames.expectWholeReplay();
  return replay.map(take).join(' ');
}

/** Frames whose ids go from one to another. */
function run(from: number, to: number, data: string): readonly Told[] {
  return Array.from({ length: to - from + 1 }, (_, index): Told => [from + index, `${data} ${from + index}`]);
}

describe('a replay after another attempt of a task, whose ids began again', () => {
  it('gives every frame behind a gap where nothing of before is held', () => {
    const places = replayed(run(1, 300, 'first'), run(89, 600, 'second')).split(' ');
    expect(places).toEqual(['after-gap', ...Array.from({ length: 511 }, () => 'new')]);
  });

  it('reports a gap where it only begins like what came before', () => {
    const seen: readonly Told[] = [
      [1, 'working'],
      [2, 'calls'],
      [3, 'done'],
    ];
    const replay: readonly Told[] = [
      [1, 'working'],
      [2, 'looks'],
      [3, 'finds'],
      [4, 'done'],
    ];
    expect(replayed(seen, replay)).toBe('repeat after-gap new new');
  });

  it('gives no frame twice where it goes on from before', () => {
    const seen: readonly Told[] = [
      [1, 'working'],
      [2, 'calls'],
      [1, 'working'],
      [2, 'looks'],
      [3, 'done'],
    ];
    expect(replayed(seen, [...seen, [4, 'more']])).toBe('repeat repeat repeat repeat repeat new');
    expect(replayed(seen, [...seen.slice(2), [4, 'more']])).toBe('repeat repeat repeat new');
    expect(replayed(seen, [...seen.slice(2), ...seen.slice(2)])).toBe('repeat repeat repeat new new new');
  });

  it('takes the longest way back where two attempts say the same', () => {
    const attempt: readonly Told[] = [
      [1, 'working'],
      [2, 'done'],
    ];
    const twice = [...attempt, ...attempt];
    expect(replayed(twice, [...twice, [3, 'more']])).toBe('repeat repeat repeat repeat new');
    expect(replayed(twice, [...attempt, [3, 'more']])).toBe('repeat repeat new');
    expect(replayed(twice, [...attempt, [1, 'working'], [3, 'more']])).toBe('repeat repeat repeat after-gap');
  });
});

describe('a replay', () => {
  it('gives what a slow connection missed, late, behind one gap', () => {
    const all = run(1, 8, 'same');
    const seen = all.filter(([id]) => id !== 3 && id !== 4 && id !== 6);
    expect(replayed(seen, [...all, [9, 'more']])).toBe('repeat repeat after-gap new repeat new repeat repeat new');
  });

  it('gives frames with id 0 that were written without a connection, and reports no gap for them', () => {
    const seen: readonly Told[] = [
      [5, 'a'],
      [1, 'b'],
      [2, 'c'],
    ];
    const whole: readonly Told[] = [
      [5, 'a'],
      [0, 'zero'],
      [1, 'b'],
      [2, 'c'],
      [3, 'd'],
    ];
    expect(replayed(seen, whole)).toBe('repeat new repeat repeat new');
  });

  it('expects none with id 0 that were seen but where it is whole', () => {
    const seen: readonly Told[] = [
      [0, 'zero'],
      [1, 'a'],
      [0, 'zero'],
    ];
    expect(
      replayed(
        seen,
        [
          [1, 'a'],
          [2, 'b'],
        ],
        'without zeros',
      ),
    ).toBe('repeat new');
    expect(replayed(seen, [...seen, [1, 'a']])).toBe('repeat repeat repeat new');
    expect(replayed([[0, 'zero']], [[1, 'a']], 'without zeros')).toBe('new');
    expect(
      replayed(
        [[0, 'zero']],
        [
          [9, 'a'],
          [10, 'b'],
        ],
      ),
    ).toBe('after-gap new');
  });

  it('knows long frames by both their ends', () => {
    const long = (end: string): string => `${'x'.repeat(100_000)}${end}`;
    expect(
      replayed(
        [
          [1, long('a')],
          [2, long('b')],
        ],
        [
          [1, long('a')],
          [2, long('c')],
        ],
      ),
    ).toBe('repeat after-gap');
  });
});
