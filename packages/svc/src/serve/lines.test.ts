import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { Lines } from './lines.ts';

const shown = (line: Buffer | 'too-long'): string => (line === 'too-long' ? line : line.toString());

describe('the lines of a stream', () => {
  it('stay the same wherever its bytes are cut', () => {
    const text = '{"a":"ü"}\n\n  \n{"b":1}\r\n{"c":2}\nrest';
    fc.assert(
      fc.property(fc.array(fc.nat(text.length + 1), { maxLength: 6 }), (cuts) => {
        const bytes = Buffer.from(text);
        const lines = new Lines(100);
        const read: string[] = [];
        let from = 0;
        for (const at of [...cuts.toSorted((left, right) => left - right), bytes.length]) {
          for (const line of lines.read(bytes.subarray(from, Math.max(from, at)))) read.push(shown(line));
          from = Math.max(from, at);
        }
        expect(read).toEqual(['{"a":"ü"}', '{"b":1}\r', '{"c":2}']);
      }),
    );
  });

  it('give one notice when they are too long, and hide none behind them', () => {
    const lines = new Lines(4);
    const read: string[] = [];
    for (const piece of ['abcd\nab', 'cd', 'efghi', 'jk\nx', 'y\n']) {
      for (const line of lines.read(Buffer.from(piece))) read.push(shown(line));
    }
    expect(read).toEqual(['abcd', 'too-long', 'xy']);
  });
});
