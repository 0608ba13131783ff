import { describe, expect, it } from 'vitest';

import { LineStore } from './line-store.ts';

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

describe('a store of lines', () => {
  it('takes whole lines alone, wherever the bytes are cut', () => {
    const text = 'eins\nzwölf\n\n三つ\nohne Ende';
    const whole = bytes(text);
    for (let cut = 0; cut <= whole.length; cut += 1) {
      const store = new LineStore();
      expect([...store.push(whole.slice(0, cut)), ...store.push(whole.slice(cut))]).toEqual([
        'eins',
        'zwölf',
        '',
        '三つ',
      ]);
      expect([0, 1, 2, 3, 4, -1].map((line) => store.line(line))).toEqual(['eins', 'zwölf', '', '三つ', '', '']);
      expect([store.count, store.bytes]).toEqual([4, 29]);
    }
  });

  it('finds a line among many pieces', () => {
    const store = new LineStore();
    for (let piece = 0; piece < 50; piece += 1) store.push(bytes(`${piece} a\n${piece} b\n`));
    expect([store.line(0), store.line(51), store.line(99)]).toEqual(['0 a', '25 b', '49 b']);
    expect([...store.blocks()].slice(24, 26)).toEqual([
      { first: 48, lines: ['24 a', '24 b'] },
      { first: 50, lines: ['25 a', '25 b'] },
    ]);
  });

  it('passes over the rest of a line that is too long', () => {
    const store = new LineStore(100);
    expect(store.push(bytes('x'.repeat(80)))).toEqual([]);
    expect(store.push(bytes('y'.repeat(80)))).toEqual(['x'.repeat(80)]);
    expect(store.push(bytes('z'.repeat(80)))).toEqual([]);
    expect(store.push(bytes('z\nnext\n'))).toEqual(['next']);
  });
});
