import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';

import { anyCharacter } from '../../../test/support/any-character.ts';
import { TextDecoder as GuestDecoder, TextEncoder as GuestEncoder } from './text-codec.ts';

// The guest's engine has both directions of base64; Node 20 has not.
class GuestBytes extends Uint8Array {
  toBase64(): string {
    return Buffer.from(this).toString('base64');
  }
}
beforeAll(() => {
  const fromBase64 = (text: string): Uint8Array => new Uint8Array(Buffer.from(text, 'base64'));
  Object.assign(Uint8Array, { fromBase64 });
});

const anyBytes = fc.uint8Array({ maxLength: 40 });
// Bytes that are likely to form, cut off and break sequences.
const awkwardBytes = fc.array(
  fc.constantFrom(0x41, 0x80, 0xa0, 0xbf, 0xc1, 0xc3, 0xe0, 0xe2, 0xed, 0xef, 0xf0, 0x90, 0x9f, 0xf4, 0xf5, 0xbb),
  { maxLength: 12 },
);

describe('the guest text encoder', () => {
  it('writes UTF-8 as the standard one does, lone surrogates included', () => {
    fc.assert(
      fc.property(fc.string({ unit: anyCharacter }), fc.constantFrom('', '\ud800', '\udc00'), (text, lone) => {
        expect(Buffer.from(new GuestEncoder().encode(text + lone))).toEqual(Buffer.from(text + lone));
      }),
    );
  });

  it('writes long runs beyond ASCII', () => {
    const text = '한국어 😀'.repeat(5000);
    expect(new TextDecoder().decode(new GuestEncoder().encode(text))).toBe(text);
  });
});

describe('the guest text decoder', () => {
  it('reads any bytes as the standard one does', () => {
    fc.assert(
      fc.property(fc.oneof(anyBytes, awkwardBytes), (bytes) => {
        const given = GuestBytes.from(bytes);
        expect(new GuestDecoder().decode(given)).toBe(new TextDecoder().decode(given));
      }),
      { numRuns: 2000 },
    );
  });

  it('refuses what the standard one refuses when it is fatal', () => {
    const outcome = (decode: () => string): string => {
      try {
        return decode();
      } catch (error) {
        return error instanceof TypeError ? 'refused' : 'another error';
      }
    };
    fc.assert(
      fc.property(fc.oneof(anyBytes, awkwardBytes), (bytes) => {
        const given = GuestBytes.from(bytes);
        const options = { fatal: true, ignoreBOM: true };
        expect(outcome(() => new GuestDecoder('utf-8', options).decode(given))).toBe(
          outcome(() => new TextDecoder('utf-8', options).decode(given)),
        );
      }),
      { numRuns: 2000 },
    );
  });

  it('gives the same text however the bytes are cut', () => {
    const cuts = fc.array(fc.nat({ max: 30 }), { maxLength: 5 });
    fc.assert(
      fc.property(fc.oneof(anyBytes, awkwardBytes), cuts, (bytes, at) => {
        const given = GuestBytes.from(bytes);
        const decoder = new GuestDecoder();
        const bounds = [0, ...at.filter((cut) => cut < given.length).sort((a, b) => a - b), given.length];
        let text = '';
        for (const [index, start] of bounds.slice(0, -1).entries()) {
          text += decoder.decode(given.subarray(start, bounds[index + 1]), { stream: true });
        }
        expect(text + decoder.decode()).toBe(new TextDecoder().decode(given));
      }),
      { numRuns: 2000 },
    );
  });
});
