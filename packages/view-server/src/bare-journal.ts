/** Gives the lines of a journal without the texts in them, which a page asks for one by one. */

import type { LineFile } from '@svc/record/journal/line-file.ts';
import { maxLine } from '@svc/record/journal/line-cursor.ts';
import { endsAsRecord, tailBytes } from '@svc/record/journal/record-line.ts';
import { WholeLines } from './whole-lines.ts';

const lineFeed = 0x0a;
const bodyStart = /^\{"n":\d{1,15},"k":"body",/;
/** As `svc` writes it (`journal/journal-writer.ts`). */
const bodyHead = /^\{"n":\d{1,15},"k":"body","sha256":"[0-9a-f]{64}","bytes":\d{1,16}/;
const maxHead = 160;
const inFile = Buffer.from(',"file":true');

/** A walk over a journal that grows: each time the lines that have become whole since the last. */
export class BareJournal {
  readonly #lines: WholeLines;
  #at = 0;
  #isTooLong = false;

  constructor(file: LineFile) {
    this.#lines = new WholeLines(file);
  }

  /** Whether the walk ended before a line that is longer than any record. */
  get isTooLong(): boolean {
    return this.#isTooLong;
  }

  /** The same records, those of texts with their hash and size alone. A line that is no record stays as it is. */
  *next(): Generator<Buffer> {
    while (!this.#isTooLong) {
      yield* this.#upTo(this.#lines.end());
      if (!this.#lines.isBehind) return;
      this.#isTooLong ||= this.#lines.unended > maxLine;
    }
  }

  *#upTo(end: number): Generator<Buffer> {
    while (this.#at < end) {
      const lines = this.#lines.linesAt(this.#at, end, maxLine);
      if (lines === null) {
        this.#isTooLong = true;
        return;
      }
      this.#at += lines.length;
      yield withoutTexts(lines);
    }
  }
}

function withoutTexts(lines: Buffer): Buffer {
  const parts: Buffer[] = [];
  // What stands between two texts is taken as it is.
  let kept = 0;
  for (let start = 0; start < lines.length;) {
    const end = lines.indexOf(lineFeed, start);
    const line = lines.subarray(start, end);
    const bare = bodyStart.test(line.toString('latin1', 0, 40)) ? withoutText(line) : null;
    if (bare !== null) {
      parts.push(lines.subarray(kept, start), bare);
      kept = end;
    }
    start = end + 1;
  }
  if (kept === 0) return lines;
  parts.push(lines.subarray(kept));
  return Buffer.concat(parts);
}

/** Returns null for a line that is no record. */
function withoutText(line: Buffer): Buffer | null {
  const [head] = bodyHead.exec(line.toString('latin1', 0, maxHead)) ?? [];
  if (head === undefined) return withoutKeys(line);
  if (!endsAsRecord(line, line.length)) return null;
  const isInFile = line.subarray(head.length, head.length + inFile.length).equals(inFile);
  return Buffer.concat([
    line.subarray(0, head.length),
    isInFile ? inFile : Buffer.alloc(0),
    line.subarray(line.length - tailBytes),
  ]);
}

/** The same of a record that something else than `svc` has written. */
function withoutKeys(line: Buffer): Buffer | null {
  try {
    const { data: _data, cut: _cut, ...rest } = JSON.parse(line.toString('utf8')) as Record<string, unknown>;
    return Buffer.from(JSON.stringify(rest));
  } catch {
    // No JSON: it is damaged.
    return null;
  }
}
