import { describe, expect, it } from 'vitest';

import { isPlain, mixesScripts, runsOf, withoutOdd } from './odd-characters.ts';
import { axisTime, count, duration, minute, moment, size } from './words.ts';

describe('odd characters', () => {
  it.each([
    ['plain text, with ünïcödé and 漢字\nand\ttabs', true],
    ['👩\u200D💻 and ❤\uFE0F are pictures', true],
    ['turned \u202Earound', false],
    ['nothing\u200Bhere', false],
    ['a\u200Db', false],
    ['\u001B[31mred', false],
    ['half \uD800', false],
    ['tag \u{E0041}', false],
  ])('in %j leave it plain: %s', (text, expected) => {
    expect(isPlain(text)).toBe(expected);
  });

  it('become marks that name them', () => {
    expect(runsOf('a\u202Eb\u0000\u0007c')).toEqual([
      { isOdd: false, text: 'a' },
      { isOdd: true, text: 'U+202E' },
      { isOdd: false, text: 'b' },
      { isOdd: true, text: 'U+0000 U+0007' },
      { isOdd: false, text: 'c' },
    ]);
  });

  it('go where no mark can stand', () => {
    expect(withoutOdd('a\u202Eb\u0000\u3164c ❤\uFE0F')).toBe('abc ❤\uFE0F');
  });

  it('leave four marks on a letter', () => {
    expect(runsOf(`z${'\u0301'.repeat(50)}`)).toEqual([{ isOdd: false, text: `z${'\u0301'.repeat(4)}` }]);
  });

  it('say where writings are mixed within a word', () => {
    expect([mixesScripts('p\u0430ypal'), mixesScripts('Привет, world'), mixesScripts('αβγ')]).toEqual([
      true,
      false,
      false,
    ]);
  });
});

describe('words', () => {
  it('spell times', () => {
    expect(
      [0, 999, 1000, 9949, 9999, 59_949, 59_950, 200_000, 3_600_000, 172_800_000, 226_800_000].map(duration),
    ).toEqual([
      '0 ms',
      '999 ms',
      '1.0 s',
      '9.9 s',
      '10 s',
      '60 s',
      '1 min 00 s',
      '3 min 20 s',
      '1 h 00 min',
      '2 d 0 h',
      '2 d 15 h',
    ]);
    expect([0, 5000, 60_000, 300_000, 3_600_000].map((ms) => axisTime(ms, 5000))).toEqual([
      '0',
      '5 s',
      '1 min',
      '5 min',
      '1 h',
    ]);
  });

  it('spell no two marks of an axis alike', () => {
    expect([13_500, 14_000, 14_500].map((ms) => axisTime(ms, 500))).toEqual(['13.5 s', '14.0 s', '14.5 s']);
    expect([25_890, 25_900].map((ms) => axisTime(ms, 10))).toEqual(['25.89 s', '25.90 s']);
    expect([999, 1001, 61_002].map((ms) => axisTime(ms, 1))).toEqual(['999 ms', '1.001 s', '1 min 1.002 s']);
  });

  it('spell numbers and sizes', () => {
    expect([0, 9999, 12_345, 123_456, 1_234_567, 5_885_000_000].map(count)).toEqual([
      '0',
      '9,999',
      '12.3 k',
      '123 k',
      '1.2 M',
      '5.9 G',
    ]);
    expect([812, 64_000, 1_200_000, 2_147_483_648].map(size)).toEqual(['812 B', '64.0 KB', '1.2 MB', '2.1 GB']);
  });

  it('call a time that no clock shows unknown', () => {
    expect([moment(1e308), moment(-1e15), moment(Number.NaN), minute(1e308)]).toEqual(Array(4).fill('unknown'));
    expect([moment(249e12), minute(249e12)].map((text) => text.replace(/\d/g, '0'))).toEqual([
      '0000-00-00 00:00:00.000',
      '0000-00-00 00:00',
    ]);
  });
});
