import fc from 'fast-check';
import { expect, test } from 'vitest';

import { anyCharacter } from '../../../test/support/any-character.ts';
import { decodeBody, encodeMessage, MessageAssembler, lengthBytes } from './message-bytes.ts';

const text = fc.oneof(fc.string({ unit: anyCharacter }), fc.constant('\ud800'), fc.constant('x'.repeat(5_000)));
const values = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    text,
    fc.double(),
    fc.bigInt(),
    fc.boolean(),
    fc.constantFrom(undefined, null, -0, Number.NaN),
    fc.uint8Array(),
    fc.array(tie('value'), { maxLength: 80 }),
    fc.dictionary(text, tie('value'), { noNullPrototype: true }),
  ),
})).value;

test('every value that a message may hold comes back the same, short or long, whole or in pieces', () => {
  fc.assert(
    fc.property(values, fc.integer({ min: 1, max: 64 }), (value, cut) => {
      const bytes = encodeMessage({ kind: 'call', value });
      expect(bytes.readUInt32LE()).toBe(bytes.length - lengthBytes);
      const received: unknown[] = [];
      const assembler = new MessageAssembler(bytes.length);
      const at = Math.min(cut, bytes.length);
      assembler.push(bytes.subarray(0, at), (message) => received.push(message));
      if (at < bytes.length) assembler.push(bytes.subarray(at), (message) => received.push(message));
      expect(received).toEqual([{ kind: 'call', value }]);
    }),
    { numRuns: 500 },
  );
});

test('what is neither of the two forms, or JSON longer than any that is sent, is refused', () => {
  for (const body of ['', 'nonsense', `"${'x'.repeat(70_000)}"`])
    expect(() => decodeBody(Buffer.from(body))).toThrow(SyntaxError);
});
