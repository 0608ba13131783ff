import { expect, it } from 'vitest';

import { decodeAnswer } from './wit-outcome.ts';

const many = Array.from({ length: 300_000 }, () => 0);

it.each([
  { tag: 'write-manifests', val: many },
  { tag: 'replace-context', val: many },
  { tag: 'replace-context', val: [{ tag: 'user', val: many }] },
  { tag: 'replace-context', val: Array.from({ length: 300 }, () => ({ tag: 'user', val: many.slice(0, 1_000) })) },
])('a hook that answers hundreds of thousands of items has failed', (answer) => {
  expect(decodeAnswer(answer)).toEqual({ kind: 'error', error: 'it answered lists of more than 16384 items' });
});

it('the reason that a hook gives for its failure is cut behind 16,384 characters', () => {
  expect(decodeAnswer({ tag: 'err', val: 'x'.repeat(20_000) })).toEqual({
    kind: 'error',
    error: `${'x'.repeat(16_384)}…`,
  });
});
