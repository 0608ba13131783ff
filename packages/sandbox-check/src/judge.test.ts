import { describe, expect, it } from 'vitest';

import type { Promised } from './attempt.ts';
import { judge, type Judgement } from './judge.ts';
import type { Seen } from './seen.ts';

const kinds = ['allowed', 'refused', 'absent', 'killed', 'unclear'] as const;

describe('judge', () => {
  it.each<[Promised, readonly Judgement[]]>([
    ['stopped', ['not as promised', 'as promised', 'as promised', 'as promised', 'not as promised']],
    ['killed', ['not as promised', 'not as promised', 'not as promised', 'as promised', 'not as promised']],
    ['works', ['as promised', 'not as promised', 'not as promised', 'not as promised', 'not as promised']],
    ['open', ['as promised', 'more', 'more', 'more', 'not as promised']],
  ])('holds what was seen to the promise that an attempt is %s', (promised, judgements) => {
    expect(kinds.map((kind) => judge(promised, { kind, detail: '' } satisfies Seen))).toEqual(judgements);
  });
});
