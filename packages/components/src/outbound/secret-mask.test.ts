import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { SecretMask, TextWatch } from './secret-mask.ts';

const key = 'sk-live-"0123456789/abc+def"-é';
const bytes = Buffer.from(key, 'latin1');

function masked(pieces: readonly Uint8Array[], secret = key): Buffer {
  const mask = new SecretMask(secret);
  return Buffer.concat([...pieces.map((piece) => mask.next(piece)), mask.rest()]);
}

/** Cut into pieces of one length. */
function pieces(text: Buffer, length: number): Buffer[] {
  return Array.from({ length: Math.ceil(text.length / length) }, (_, at) =>
    text.subarray(at * length, (at + 1) * length),
  );
}

describe('the mask of a secret', () => {
  it.each([
    ['itself', bytes],
    ['JSON', Buffer.from(JSON.stringify(key), 'latin1')],
    ['a URL', Buffer.from(encodeURIComponent(key))],
    ['hexadecimal', Buffer.from(bytes.toString('hex'))],
    ['capital hexadecimal', Buffer.from(bytes.toString('hex').toUpperCase())],
    ['base64', Buffer.from(bytes.toString('base64'))],
    ['base64 behind one byte', Buffer.from(Buffer.concat([Buffer.from(':'), bytes]).toString('base64'))],
    ['base64 behind two bytes', Buffer.from(Buffer.concat([Buffer.from('a:'), bytes]).toString('base64'))],
    ['base64 of URLs', Buffer.from(bytes.toString('base64url'))],
  ])('covers it as %s, wherever the pieces are cut, and leaves what is around it', (_, spelled) => {
    const text = Buffer.concat([Buffer.from('before '), spelled, Buffer.from(' and sk-live after '), spelled]);
    for (const length of [1, 2, 7, 40, text.length]) {
      const out = masked(pieces(text, length));
      expect(out.length).toBe(text.length);
      expect(out.toString('latin1')).toMatch(/^before .{0,3}\*{30,}.{0,4} and sk-live after .{0,3}\*{30,}.{0,4}$/);
    }
  });

  it('gives out at once what cannot be the beginning of it', () => {
    const mask = new SecretMask(key);
    expect(mask.next(Buffer.from('data: hello\n\n')).toString()).toBe('data: hello\n\n');
    expect(mask.next(Buffer.from('data: sk-li')).toString()).toBe('data: ');
    expect(mask.next(Buffer.from('near\n')).toString()).toBe('sk-linear\n');
  });

  it('does not look for a word that is too short to be a secret', () => {
    expect(masked([Buffer.from('ollama is here')], 'ollama').toString()).toBe('ollama is here');
  });

  it('changes nothing else, however it is cut', () => {
    const text = fc.array(fc.constantFrom('s', 'sk', '-', 'live', '0', 'x'), { maxLength: 60 });
    fc.assert(
      fc.property(text, fc.integer({ min: 1, max: 9 }), (words, length) => {
        const plain = Buffer.from(words.join(''));
        expect(masked(pieces(plain, length)).toString()).toBe(plain.toString());
      }),
    );
  });

  it('keeps back the longest end that begins a spelling, and no more, for keys that repeat themselves', () => {
    const text = fc.array(fc.constantFrom('a', 'ab', 'aab', 'b'), { minLength: 16, maxLength: 60 });
    fc.assert(
      fc.property(text, text, fc.nat(80), (secretParts, behind, cut) => {
        const secret = secretParts.join('');
        const piece = Buffer.from(`-${secret.slice(0, cut)}${behind.join('')}${secret.slice(0, cut)}`);
        const given = new SecretMask(secret).next(Buffer.from(piece));
        const whole = new SecretMask(secret).whole(Buffer.from(piece)).toString();
        const kept = maxEnd(whole, [secret, Buffer.from(secret).toString('hex')]);
        expect(given.toString()).toBe(whole.slice(0, whole.length - kept));
      }),
    );
  });

  it('takes time in proportion to the key', () => {
    const mask = new SecretMask(`${'a'.repeat(3_000_000)}b`);
    expect(mask.next(Buffer.from(`${'a'.repeat(2_999_998)}c`)).length).toBe(2_999_999);
    expect(mask.next(Buffer.from('a'.repeat(2_999_999))).length).toBe(0);
    expect(mask.rest().length).toBe(2_999_999);
  });
});

/** The length of the longest end of the text that one of the spellings begins with, and is not. */
function maxEnd(text: string, spellings: readonly string[]): number {
  for (let length = text.length; length > 0; length -= 1) {
    const end = text.slice(text.length - length);
    if (spellings.some((spelling) => spelling.length > length && spelling.startsWith(end))) return length;
  }
  return 0;
}

it('TextWatch sees the text however it is cut', () => {
  const pieces = fc.array(fc.constantFrom('a', 'b', 'ab', 'ba', 'aab', ''), { maxLength: 12 });
  fc.assert(
    fc.property(pieces, (pieces) => {
      const watch = new TextWatch('aaba');
      const seen = pieces.map((piece) => watch.sees(Buffer.from(piece))).includes(true);
      expect(seen).toBe(pieces.join('').includes('aaba'));
    }),
  );
});

it('TextWatch sees a text of one letter in the piece that holds it, and only there', () => {
  const watch = new TextWatch('x');
  expect(['ax', 'b', 'x'].map((piece) => watch.sees(Buffer.from(piece)))).toEqual([true, false, true]);
});
