/** Reads of a journal what a comparison needs, fast: of two sessions of 100,000 steps. */

import { type Damage, JournalScan } from './journal-scan.ts';
import type { LineFile } from './line-file.ts';
import { headOf } from './record-line.ts';
import { decodeRecord, isRecordKind, type JournalRecord } from './records.ts';
import { skimmed, type SkimmedEnd, type SkimmedStart } from './skimmed-record.ts';

export type SkimmedRecord = JournalRecord<'task' | 'task-end'> | SkimmedStart | SkimmedEnd;

/** First letters of the kinds that are skimmed: task, task-end, told, start, setup, end. */
const letters: ReadonlySet<number> = new Set(Array.from('tse', (letter) => letter.charCodeAt(0)));
const skimmedKinds: ReadonlySet<string> = new Set(['task', 'task-end', 'start', 'end']);

/**
 * Tasks, steps and their ends in the order of the file. Only the number of each line is checked, and the first line as every reader does;
 * whoever shows a step that was found so reads it again with its chain. `onDamage` is told where the journal cannot be read further.
 */
export function* skim(file: LineFile, onDamage: (damage: Damage) => void): Generator<SkimmedRecord> {
  const first = new JournalScan(file);
  if (first.records().next().done === true) {
    if (first.damage !== null) onDamage(first.damage);
    return;
  }
  let n = 0;
  for (const { offset, line } of file.lines(0)) {
    const record = skimmedLine(line, n);
    if (typeof record === 'string') {
      onDamage({ record: n, byte: offset, why: record });
      return;
    }
    n += 1;
    if (record !== null) yield record;
  }
}

/** The record, null for one of no use, or what is wrong with the line. */
function skimmedLine(line: Buffer, n: number): SkimmedRecord | null | string {
  // `{"n":`, the number and `,"k":"`
  const letterAt = 5 + digitsOf(n) + 6;
  if (numberAt(line, letterAt) !== n)
    return headOf(line) === null ? 'does not begin and end as a record does' : 'has another number';
  if (!letters.has(line[letterAt] ?? 0)) return null;
  const head = headOf(line);
  if (head === null) return 'does not begin and end as a record does';
  const { kind } = head;
  if (!isRecordKind(kind)) return `is of the unknown kind ${kind}`;
  if (!skimmedKinds.has(kind)) return null;
  if (kind === 'start' || kind === 'end') return skimmed(line, kind);
  return decodeRecord(line.toString('utf8'), kind as 'task');
}

function digitsOf(n: number): number {
  let digits = 1;
  for (let rest = n; rest >= 10; rest /= 10) digits += 1;
  return digits;
}

/** The number of a line whose kind begins at `letterAt`; NaN where it does not. */
function numberAt(line: Buffer, letterAt: number): number {
  if (line[letterAt - 6] !== 0x2c || line[letterAt - 1] !== 0x22) return Number.NaN;
  let n = 0;
  for (let at = 5; at < letterAt - 6; at += 1) n = n * 10 + (line[at] ?? 0) - 0x30;
  return n;
}
