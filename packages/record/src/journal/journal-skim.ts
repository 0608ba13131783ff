/** Reads only what a comparison needs of a journal, so that sessions of 100,000 steps are compared fast. */

import { type Damage, JournalScan } from './journal-scan.ts';
import type { LineCursor } from './line-cursor.ts';
import type { LineFile } from './line-file.ts';
import { endsAsRecord, headOf, tailBytes } from './record-line.ts';
import { decodeRecord, isRecordKind, type JournalRecord } from './records.ts';
import { type SkimmedEnd, skimmedRecord, type SkimmedStart, skimmedText } from './skimmed-record.ts';

export type SkimmedRecord = JournalRecord<'task' | 'task-end'> | SkimmedStart | SkimmedEnd;

/** First letters of the kinds that are skimmed: `task`, `task-end`, `told`, `start`, `setup` and `end`. */
const letters: ReadonlySet<number> = new Set(Array.from('tse', (letter) => letter.charCodeAt(0)));
const maxKind = 16;
/** `{"n":` and `,"k":"` */
const [beforeNumber, beforeKind] = [5, 6];
const [comma, quote, zero] = [0x2c, 0x22, 0x30];

/**
 * Tasks, steps and their ends in the order of the file. Only the number of each line is checked, and the first line as every reader does;
 * a caller that shows a step found so reads it again with its chain. `onDamage` receives where the journal cannot be read further.
 */
export function* skim(file: LineFile, onDamage: (damage: Damage) => void): Generator<SkimmedRecord> {
  const first = new JournalScan(file);
  if (first.records().next().done === true) {
    if (first.damage !== null) onDamage(first.damage);
    return;
  }
  const lines = file.walk(0);
  let n = 0;
  for (let digits = 1; lines.next(); n += 1) {
    if (n >= 10 ** digits) digits += 1;
    const record = skimmedLine(lines, n, beforeNumber + digits + beforeKind);
    if (typeof record === 'string') {
      onDamage({ record: n, byte: lines.offset, why: record });
      return;
    }
    if (record !== null) yield record;
  }
  if (lines.fault !== null) onDamage({ record: n, byte: lines.offset, why: lines.fault });
}

const noRecord = 'does not begin and end as a record does';

/** The record, null for one of no use, or what is wrong with the line, whose kind begins at the byte `before` of it. */
function skimmedLine(lines: LineCursor, n: number, before: number): SkimmedRecord | null | string {
  const { bytes, start, end } = lines;
  const kindAt = start + before;
  if (kindAt >= end || numberBefore(bytes, kindAt, start) !== n)
    return headOf(lines.line) === null ? noRecord : 'has another number';
  if (!letters.has(bytes[kindAt] ?? 0)) return null;
  const kindEnd = bytes.indexOf(quote, kindAt);
  const isNamed = kindEnd > 0 && kindEnd - kindAt <= maxKind && kindEnd + 1 <= end - tailBytes;
  if (!isNamed || bytes[kindEnd + 1] !== comma || !endsAsRecord(bytes, end)) return noRecord;
  const kind = bytes.toString('latin1', kindAt, kindEnd);
  if (kind === 'start' || kind === 'end')
    return skimmedText(bytes.toString('latin1', kindEnd + 1, end - tailBytes), kind) ?? skimmedRecord(lines.line, kind);
  if (!isRecordKind(kind)) return /^[a-z-]+$/.test(kind) ? `is of the unknown kind ${kind}` : noRecord;
  return kind === 'task' || kind === 'task-end' ? decodeRecord(lines.line.toString('utf8'), kind) : null;
}

/** The number of the line from `start` whose kind begins at `kindAt`; NaN where it does not. */
function numberBefore(bytes: Buffer, kindAt: number, start: number): number {
  const end = kindAt - beforeKind;
  if (bytes[end] !== comma || bytes[kindAt - 1] !== quote) return Number.NaN;
  let n = 0;
  for (let at = start + beforeNumber; at < end; at += 1) n = n * 10 + (bytes[at] ?? 0) - zero;
  return n;
}
