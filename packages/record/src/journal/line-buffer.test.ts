import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { anyCharacter } from '../../../../test/support/any-character.ts';
import { LineBuffer } from './line-buffer.ts';
import { encodeLine, firstChain } from './record-line.ts';

describe('lines that wait for one write', () => {
  it('keep their bytes, one behind the other, whatever characters they hold', () => {
    const texts = fc.array(fc.string({ unit: anyCharacter, maxLength: 300 }), { maxLength: 20 });
    fc.assert(
      fc.property(fc.array(texts, { maxLength: 5 }), (writes) => {
        const buffer = new LineBuffer();
        let chain = firstChain;
        let n = 0;
        for (const write of writes) {
          let expected = '';
          for (const data of write) {
            const record = { k: 'body', data };
            const encoded = encodeLine(n, record, chain);
            expect(buffer.add(n, JSON.stringify(record), chain)).toBe(encoded.chain);
            expected += encoded.line;
            ({ chain } = encoded);
            n += 1;
            expect(buffer.length).toBe(Buffer.byteLength(expected));
          }
          expect(buffer.take().toString()).toBe(expected);
          expect(buffer.length).toBe(0);
        }
      }),
      { numRuns: 50 },
    );
  });

  it('stay as they are while longer ones make room for themselves', () => {
    const buffer = new LineBuffer();
    const chain = buffer.add(0, '{"k":"in","what":"stop"}', firstChain);
    buffer.add(1, JSON.stringify({ k: 'body', data: '世'.repeat(200_000) }), chain);
    const [first, second, rest] = buffer.take().toString().split('\n');
    expect(first).toMatch(/^\{"n":0,"k":"in","what":"stop","c":"[0-9a-f]{16}"\}$/);
    expect(second).toHaveLength('{"n":1,"k":"body","data":"","c":"0123456789abcdef"}'.length + 200_000);
    expect(rest).toBe('');
  });
});
