import { describe, expect, it } from 'vitest';
import { formatSeen, judge, type Judgement, parseAnswer, type Seen, type Promised } from './attempt.ts';

describe('parseAnswer', () => {
  it.each<[string, Seen | 'tried' | null]>([
    ['allowed\n', { kind: 'allowed', detail: '' }],
    ['absent\n', { kind: 'absent', detail: '' }],
    ['refused EACCES\n', { kind: 'refused', detail: 'EACCES' }],
    ['killed SIGSYS\n', { kind: 'killed', detail: 'SIGSYS' }],
    ['tried\n', 'tried'],
    ['', null],
    ['allowed', null],
    ['allowed\nrefused EACCES\n', null],
    ['refused\n', null],
    ['refused EACCES because\n', null],
    ['unclear it ended\n', null],
  ])('reads %j', (line, answer) => {
    expect(parseAnswer(line)).toEqual(answer);
  });
});

describe('formatSeen', () => {
  it('adds who refused', () => {
    expect(formatSeen({ kind: 'refused', detail: 'EPERM' })).toBe('refused EPERM');
    expect(formatSeen({ kind: 'allowed', detail: '' })).toBe('allowed');
  });
});

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
