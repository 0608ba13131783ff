import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { anyCharacter } from '../../../../../test/support/any-character.ts';
import { cutText } from './plan-report.ts';

describe('a text that is cut', () => {
  it('has no part of a secret at its end, and is the same when it is cut again without secrets in it', () => {
    const redact = (text: string): string => text.replaceAll('s3cret', '[x]');
    expect(cutText('1234 s3cret', 9, redact)).toEqual({ text: '1234 [x]', cut: false });
    expect(cutText('s3cret 1234 s3cret', 10, redact)).toEqual({ text: '[x] 1234 [', cut: true });
    expect(cutText(redact('s3cret 1234 s3cret'), 10, redact)).toEqual({ text: '[x] 1234 [', cut: true });
    expect(cutText('s3cret 12', 9, redact)).toEqual({ text: 's3cret 12', cut: false });
  });

  it.each([
    ['abc', 3, { text: 'abc', cut: false }],
    ['abcd', 3, { text: 'abc', cut: true }],
    ['aß', 2, { text: 'a', cut: true }],
    ['aß', 3, { text: 'aß', cut: false }],
    ['€€', 5, { text: '€', cut: true }],
    ['a😀b', 4, { text: 'a', cut: true }],
    ['a😀b', 5, { text: 'a😀', cut: true }],
    ['a', 0, { text: '', cut: true }],
    ['', 0, { text: '', cut: false }],
  ])('%j in %i bytes', (text, maxBytes, expected) => {
    expect(cutText(text, maxBytes, (same) => same)).toEqual(expected);
  });

  it('keeps the longest beginning in whole characters that fits', () => {
    fc.assert(
      fc.property(fc.string({ unit: anyCharacter }), fc.nat(40), (text, maxBytes) => {
        let fitting = '';
        for (const character of text) {
          if (Buffer.byteLength(fitting + character) > maxBytes) break;
          fitting += character;
        }
        expect(cutText(text, maxBytes, (same) => same)).toEqual({ text: fitting, cut: fitting.length < text.length });
      }),
    );
  });
});
