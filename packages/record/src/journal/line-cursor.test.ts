import { describe, expect, it } from 'vitest';

import { LineCursor, maxLine } from './line-cursor.ts';

const mebibyte = 1024 * 1024;

/** Reads of `file`, which the test may change meanwhile. */
function cursorIn(file: { bytes: Buffer }, offset = 0): LineCursor {
  return new LineCursor((bytes, at) => file.bytes.copy(bytes, 0, at), offset);
}

function walked(cursor: LineCursor): readonly (readonly [offset: number, length: number, first: string])[] {
  const lines: [number, number, string][] = [];
  while (cursor.next()) {
    const { offset, start, end, line, bytes } = cursor;
    expect(bytes.subarray(start, end).equals(line)).toBe(true);
    lines.push([offset, line.length, line.toString('latin1', 0, 3)]);
  }
  return lines;
}

describe('a walk over lines', () => {
  it('gives each with its place, also where one lies across two reads or is longer than one', () => {
    const lines = ['abc', '', `def${'x'.repeat(mebibyte - 8)}`, `ghi${'y'.repeat(5 * mebibyte)}`, 'jkl'];
    const file = { bytes: Buffer.from(`${lines.join('\n')}\nno line`) };
    expect(walked(cursorIn(file))).toEqual([
      [0, 3, 'abc'],
      [4, 0, ''],
      [5, mebibyte - 5, 'def'],
      [mebibyte + 1, 5 * mebibyte + 3, 'ghi'],
      [6 * mebibyte + 5, 3, 'jkl'],
    ]);
    expect(walked(cursorIn(file, mebibyte + 1)).map(([offset]) => offset)).toEqual([mebibyte + 1, 6 * mebibyte + 5]);
  });

  it('ends where the file did, whatever is written to it meanwhile', () => {
    const file = { bytes: Buffer.from('one\ntwo\nthr') };
    const cursor = cursorIn(file);
    expect(cursor.next()).toBe(true);
    file.bytes = Buffer.from('one\ntwo\nthree\n');
    expect(walked(cursor)).toEqual([[4, 3, 'two']]);
    expect(cursor.next()).toBe(false);
    expect(cursor.isTooLong).toBe(false);
  });

  it('ends behind 100,000 lines that are shorter than any record, where there are more', () => {
    const lines = (count: number, text: string): Buffer => Buffer.from(`${text}\n`.repeat(count));
    const count = (cursor: LineCursor): number => {
      let lines = 0;
      while (cursor.next()) lines += 1;
      return lines;
    };
    const cursor = cursorIn({ bytes: lines(100_002, '{}') });
    expect([count(cursor), cursor.isTooMany, cursor.isTooLong, cursor.offset]).toEqual([100_000, true, false, 300_000]);
    expect(cursor.next()).toBe(false);
    const all = cursorIn({ bytes: lines(100_000, '') });
    expect([count(all), all.isTooMany]).toEqual([100_000, false]);
    const long = cursorIn({ bytes: lines(100_002, 'x'.repeat(63)) });
    expect([count(long), long.isTooMany]).toEqual([100_002, false]);
  });

  it('ends before a line that is longer than any record', () => {
    const cursor = cursorIn({ bytes: Buffer.concat([Buffer.from('one\n'), Buffer.alloc(maxLine, 'x')]) });
    expect(walked(cursor)).toEqual([[0, 3, 'one']]);
    expect(cursor.isTooLong).toBe(true);
    expect(cursor.offset).toBe(4);
  });

  it('goes on behind such a line, and asks for no more bytes at once than a record has', () => {
    const long = Buffer.alloc(2 * maxLine + 5, 'x');
    const parts = ['one\n', long, '\n', 'two\n', long, '\nthree\n', long];
    const bytes = Buffer.concat(parts.map((part) => Buffer.from(part)));
    const asked: number[] = [];
    const cursor = new LineCursor((room, at) => {
      asked.push(room.length);
      return bytes.copy(room, 0, at);
    }, 0);
    expect(walked(cursor)).toEqual([[0, 3, 'one']]);
    expect(cursor.skip()).toBe(true);
    expect(walked(cursor)).toEqual([[long.length + 5, 3, 'two']]);
    expect([cursor.isTooLong, cursor.skip()]).toEqual([true, true]);
    expect(walked(cursor)).toEqual([[2 * long.length + 10, 5, 'thr']]);
    // The last one has no end.
    expect([cursor.isTooLong, cursor.skip(), cursor.next(), cursor.isTooLong]).toEqual([true, false, false, false]);
    expect(Math.max(...asked)).toBe(maxLine);
  });
});
