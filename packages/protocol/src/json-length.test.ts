import { toUSVString } from 'node:util';

import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { fittingLength } from './json-length.ts';

function jsonBytes(text: string): number {
  return Buffer.byteLength(JSON.stringify(text)) - 2;
}

describe('the length of text as JSON', () => {
  it('equals that of what JSON.stringify writes, for any character', () => {
    for (let point = 0; point <= 0x10ffff; point += point < 0x3000 ? 1 : 97) {
      if (point >= 0xd800 && point <= 0xdfff) continue;
      const text = String.fromCodePoint(point);
      const bytes = jsonBytes(text);
      expect([point, fittingLength(text, bytes), fittingLength(text, bytes - 1)]).toEqual([point, text.length, 0]);
    }
  });

  it('cuts text where the next character would be too much, and none in halves', () => {
    const text = fc.array(fc.constantFrom('a', '\0', '\n', '"', 'ä', '€', '😀')).map((parts) => parts.join(''));
    fc.assert(
      fc.property(text, fc.nat(200), (whole, maxBytes) => {
        const length = fittingLength(whole, maxBytes);
        const kept = whole.slice(0, length);
        const [next = ''] = whole.slice(length);
        expect(toUSVString(kept)).toBe(kept);
        expect(jsonBytes(kept)).toBeLessThanOrEqual(maxBytes);
        expect(next === '' || jsonBytes(kept + next) > maxBytes).toBe(true);
      }),
    );
  });
});
