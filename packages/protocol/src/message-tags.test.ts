import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { hex } from '../test/both-ways.ts';
import { decodeMessageTags, encodeMessageTags, type MessageTags } from './message-tags.ts';

const from = (headers: Readonly<Record<string, string>>) => decodeMessageTags((name) => headers[name]);

describe('what a sender notes on a message', () => {
  it('stays the same after both ways', () => {
    const digits = (length: number) => hex(length).filter((value) => !/^0+$/.test(value));
    const span = fc.tuple(digits(32), digits(16)).map(([trace, parent]) => `00-${trace}-${parent}-01`);
    const visible = fc.integer({ min: 0x21, max: 0x7e }).map((code) => String.fromCodePoint(code));
    const tags: fc.Arbitrary<MessageTags> = fc.record({
      idempotencyKey: fc.option(fc.string({ unit: visible, minLength: 1, maxLength: 255 }), { nil: undefined }),
      traceparent: fc.option(span, { nil: undefined }),
    });
    fc.assert(
      fc.property(tags, (value) => {
        expect(from(encodeMessageTags(value))).toEqual({ kind: 'tags', tags: value });
      }),
    );
  });

  it('makes these headers', () => {
    const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
    expect(encodeMessageTags({ idempotencyKey: 'order-7', traceparent })).toEqual({
      'idempotency-key': 'order-7',
      traceparent,
    });
    expect(encodeMessageTags({})).toEqual({});
  });

  it.each(['', ' ', 'a b', 'a, b', 'é', 'a\u0000', 'x'.repeat(256)])('refuses the key %j', (key) => {
    expect(from({ 'idempotency-key': key })).toEqual({
      kind: 'invalid',
      problem: 'Idempotency-Key must have 1 to 255 visible ASCII characters',
    });
  });

  it.each([
    '',
    'x',
    '00-00000000000000000000000000000000-00f067aa0ba902b7-01',
    '00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01',
    '00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01',
    '01-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01',
    '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more',
  ])('passes over the span %j', (traceparent) => {
    expect(from({ traceparent })).toEqual({ kind: 'tags', tags: {} });
  });
});
