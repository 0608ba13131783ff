/** Rewrites a journal without the texts in it, as a session with `capture: meta` would have written it. */

import type { PackedFile } from '@svc/artifacts/store/archive-writer.ts';
import { IndexBuilder } from '../journal/journal-index.ts';
import type { JournalReader } from '../journal/journal-reader.ts';
import type { Damage } from '../journal/journal-scan.ts';
import { journalFile } from '../journal/journal-writer.ts';
import { ExportSize } from './export-limits.ts';
import { encodeLine, firstChain } from '../journal/record-line.ts';
import type { JournalRecord, RecordOf } from '../journal/records.ts';

/** The files of an export, and where the journal cannot be believed any more: they end before it. */
export interface Exported {
  readonly files: readonly PackedFile[];
  readonly damage: Damage | null;
}

/**
 * The same records as a session with `capture: meta` writes them: of bodies hash and size alone, no message of a task's end, no reason and no key of
 * a sender. Numbers stay, index and chain are made anew.
 */
export function withoutTexts(reader: JournalReader): Exported {
  const lines: Buffer[] = [];
  const index = new IndexBuilder();
  let [chain, size] = [firstChain, 0];
  const exported = new ExportSize();
  exported.add(0);
  const scan = reader.scan();
  for (const { record } of scan.records()) {
    const bare = record.k === 'index' ? index.record() : withoutText(record);
    const encoded = encodeLine(record.n, bare, chain);
    const line = Buffer.from(encoded.line);
    index.note(bare, size, size + line.length);
    exported.grow(line.length);
    lines.push(line);
    ({ chain } = encoded);
    size += line.length;
  }
  return { files: [{ name: journalFile, data: Buffer.concat(lines) }], damage: scan.damage };
}

function withoutText(record: JournalRecord): RecordOf<JournalRecord['k']> {
  const { n: _n, c: _c, ...rest } = record;
  switch (rest.k) {
    case 'open':
      return { ...rest, capture: 'meta' };
    case 'body':
      return { k: 'body', sha256: rest.sha256, bytes: rest.bytes };
    case 'task':
      return { ...rest, key: null };
    case 'task-end':
      return { ...rest, message: '' };
    case 'close':
      return { ...rest, reason: null };
    default:
      return rest;
  }
}
