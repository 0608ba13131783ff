import { describe, expect, it } from 'vitest';

import { ProtobufWriter } from './protobuf-writer.ts';

function hexOf(write: (to: ProtobufWriter) => void): string {
  const to = new ProtobufWriter();
  write(to);
  return Buffer.from(to.finish()).toString('hex');
}

describe('a protobuf writer', () => {
  it.each<[string, (to: ProtobufWriter) => void, string]>([
    ['a small number', (to) => to.int(1, 1), '0801'],
    ['zero, which it does not leave out', (to) => to.int(3, 0), '1800'],
    ['a number of two bytes', (to) => to.int(1, 300), '08ac02'],
    ['a number beyond 32 bits', (to) => to.int(1, 2 ** 40), '08808080808020'],
    ['a negative number, in ten bytes', (to) => to.int(1, -1), '08ffffffffffffffffff01'],
    ['a text', (to) => to.text(2, 'svc'), '1203737663'],
    ['a short text that is more than ASCII', (to) => to.text(2, 'é'), '1202c3a9'],
    ['an id', (to) => to.hex(1, '00f067aa0ba902b7'), '0a0800f067aa0ba902b7'],
    ['a double', (to) => to.double(5, 0.5), '29000000000000e03f'],
    ['a fixed number', (to) => to.fixed32(16, 257), '850101010000'],
    ['milliseconds, exactly, as nanoseconds', (to) => to.nanoseconds(7, 1_795_648_839_039), '39c01d43f81a6deb18'],
    ['packed numbers', (to) => to.packedFixed64(6, [1, 2 ** 33]), '321001000000000000000000000002000000'],
    ['packed doubles', (to) => to.packedDoubles(7, [0.5]), '3a08000000000000e03f'],
  ])('writes %s', (_what, write, hex) => {
    expect(hexOf(write)).toBe(hex);
  });

  it('holds nanoseconds to the last one', () => {
    const bytes = Buffer.from(
      hexOf((to) => to.nanoseconds(1, 1_795_648_839_039)),
      'hex',
    ).subarray(1);
    expect(bytes.readBigUInt64LE()).toBe(1_795_648_839_039_000_000n);
  });

  // A length takes one byte more with each of these steps.
  it.each([
    [0, '0a00'],
    [127, '0a7f'],
    [128, '0a8001'],
    [16_383, '0aff7f'],
    [16_384, '0a808001'],
    [2_097_151, '0affff7f'],
    [2_097_152, '0a80808001'],
  ])('puts the length before a message of %d bytes, and moves nothing else', (length, head) => {
    const to = new ProtobufWriter();
    const outer = to.begin(1);
    // Tag and length of the text are of the message too.
    const headBytes = length < 2 ? 0 : 1 + sizeOf(length);
    if (headBytes > 0) to.text(1, 'a'.repeat(length - headBytes));
    to.end(outer);
    to.int(2, 7);
    const hex = Buffer.from(to.finish()).toString('hex');
    expect([hex.slice(0, head.length), hex.length / 2, hex.slice(-4)]).toEqual([
      head,
      head.length / 2 + length + 2,
      '1007',
    ]);
  });
});

/** Bytes of the length of a text that fills a message of `length` bytes with it. */
function sizeOf(length: number): number {
  return [1, 2, 3, 4].find((size) => length - 1 - size < 128 ** size) ?? 5;
}
