import { describe, expect, it } from 'vitest';

import { formatSeen, parseAnswer, type Seen } from './seen.ts';

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
