import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { RedactedLines } from './redacted-lines.ts';

function linesWithout(secret: string): RedactedLines {
  return new RedactedLines((text) => text.replaceAll(secret, '[secret]'));
}

/** What each piece gives out, and what is left at the end. */
function given(lines: RedactedLines, pieces: readonly string[]): readonly string[] {
  return [...pieces.map((piece) => lines.take(Buffer.from(piece)).toString()), lines.rest().toString()];
}

describe('lines without secrets', () => {
  it('come out as they end', () => {
    expect(given(linesWithout('sk-123456'), ['a', 'b\nc', 'd\n\ne'])).toEqual(['', 'ab\n', 'cd\n\n', 'e']);
  });

  it('stay byte for byte where they are not text', () => {
    const lines = linesWithout('sk-123456');
    expect([...lines.take(Buffer.from([0xff, 0x0a, 0xc3]))]).toEqual([0xff, 0x0a]);
    expect([...lines.rest()]).toEqual([0xc3]);
  });

  it('hide a secret that comes in pieces', () => {
    const pieces = ['a sk-1', '23', '456 b\n', 'sk-123456\nsk-123', '456'];
    expect(given(linesWithout('sk-123456'), pieces)).toEqual(['', '', 'a [secret] b\n', '[secret]\n', '', '[secret]']);
  });

  it('come out before their end when they are long, the last 8 KiB held back', () => {
    const lines = linesWithout('sk-123456');
    expect(lines.take(Buffer.from('x'.repeat(65_536))).length).toBe(0);
    expect(lines.take(Buffer.from('sk-1234')).length).toBe(57_351);
    expect(lines.take(Buffer.from(`56${'y'.repeat(65_536)}`)).toString()).toBe(
      `${'x'.repeat(8185)}[secret]${'y'.repeat(57_344)}`,
    );
    expect(lines.rest().length).toBe(8192);
  });

  it('hide a secret in pieces of any size, and lose nothing else', () => {
    const secret = 'sk-\u20AC12';
    const text = fc.array(fc.oneof(fc.constantFrom(secret, '\n', 'sk-', '\u20AC'), fc.string({ maxLength: 5 })));
    fc.assert(
      fc.property(text, fc.integer({ min: 1, max: 9 }), (parts, size) => {
        const bytes = Buffer.from(parts.join(''));
        const lines = linesWithout(secret);
        const pieces: Buffer[] = [];
        for (let at = 0; at < bytes.length; at += size) pieces.push(lines.take(bytes.subarray(at, at + size)));
        const all = Buffer.concat([...pieces, lines.rest()]).toString();
        expect(all).toBe(parts.join('').replaceAll(secret, '[secret]'));
      }),
    );
  });
});
