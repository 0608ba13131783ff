/** Walks over the lines of a file that anybody may have written, with time for others in between. */

import type { LineFile } from '@svc/record/journal/line-file.ts';
import { maxLine } from '@svc/record/journal/line-cursor.ts';

/** Given of a line that is too long to be read. */
const beginningBytes = 64 * 1024;
/** Limits for lines before others have their turn. */
const [turnBytes, turnLines] = [1024 * 1024, 2000];
/** A line may be a hole of any size: so much is read at once, and so much before others have their turn. */
const [pieceBytes, holeBytes] = [1024 * 1024, 64 * 1024 * 1024];
const lineFeed = 0x0a;

export interface WalkedLine {
  /**
   * Good until the next is asked for. Of a line of more than 16 MiB only its beginning, with `isWhole` false; so is the first of all that stand behind
   * too many short lines (`LineCursor`), which are not walked over.
   */
  readonly line: Buffer;
  readonly isWhole: boolean;
  readonly byte: number;
  /** Where the line behind it begins. */
  readonly next: number;
}

/** Lines from `from` on, as far as the last line feed there is; null where others should have their turn. */
export function* eachLine(file: LineFile, from: number): Generator<WalkedLine | null> {
  let turn = from + turnBytes;
  let lines = 0;
  for (let start = from; ;) {
    const cursor = file.walk(start);
    while (cursor.next()) {
      const { line, offset: byte } = cursor;
      const next = byte + line.length + 1;
      yield { line, isWhole: true, byte, next };
      lines += 1;
      if (next < turn && lines < turnLines) continue;
      [turn, lines] = [next + turnBytes, 0];
      yield null;
    }
    if (cursor.isTooMany) {
      const byte = cursor.offset;
      const line = file.readAt(byte, beginningBytes);
      yield { line: line.subarray(0, line.indexOf(lineFeed)), isWhole: false, byte, next: file.size };
    }
    if (!cursor.isTooLong) return;
    const { offset: byte, start: at } = cursor;
    const line = Buffer.from(cursor.bytes.subarray(at, at + beginningBytes));
    const end = yield* endOfLine(file, byte + maxLine);
    if (end === null) return;
    start = end + 1;
    yield { line, isWhole: false, byte, next: start };
  }
}

/** The byte of the next line feed; null where none comes. */
function* endOfLine(file: LineFile, from: number): Generator<null, number | null> {
  let turn = from + holeBytes;
  for (let at = from; ;) {
    const piece = file.readAt(at, pieceBytes);
    if (piece.length === 0) return null;
    const found = piece.indexOf(lineFeed);
    if (found >= 0) return at + found;
    at += piece.length;
    if (at < turn) continue;
    turn = at + holeBytes;
    yield null;
  }
}
