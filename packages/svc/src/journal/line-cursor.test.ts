import { describe, expect, it } from 'vitest';

import { LineCursor, longestLine } from './line-cursor.ts';

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

  it('ends before a line that is longer than any record', () => {
    const cursor = cursorIn({ bytes: Buffer.concat([Buffer.from('one\n'), Buffer.alloc(longestLine, 'x')]) });
    expect(walked(cursor)).toEqual([[0, 3, 'one']]);
    expect(cursor.isTooLong).toBe(true);
    expect(cursor.offset).toBe(4);
  });
});
