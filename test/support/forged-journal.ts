/** Writes journals of any records, as a forger would. */

import { createHash } from 'node:crypto';

type Fields = Readonly<Record<string, unknown>>;

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

/** The lines of these records, numbered and tied together. */
export function chainedLines(records: readonly Fields[]): string {
  let chain = '0'.repeat(16);
  return records
    .map((record, n) => {
      const text = JSON.stringify(Object.assign({}, record, { n }));
      chain = sha256(chain + text).slice(0, 16);
      return `${text.slice(0, -1)},"c":"${chain}"}\n`;
    })
    .join('');
}

/** The records of a journal except for its indexes, without their chain. */
export function recordsOf(journal: string): readonly Fields[] {
  return journal
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as Fields)
    .filter(({ k }) => k !== 'index')
    .map((line) => {
      const { c: _, ...record } = line;
      return record;
    });
}

/** The text of a journal with other texts in it, tied together anew, as somebody would make it who wants it to be believed. */
export function forgedJournal(journal: string, change: (text: string) => string): string {
  const lines = journal.split('\n').slice(0, -1);
  const renamed = new Map<string, string>();
  const records = lines
    .filter((line) => !line.includes('"k":"index"'))
    .map((line) => {
      const named = [...renamed].reduce((text, [from, to]) => text.replaceAll(from, to), line);
      const { c: _, ...record } = JSON.parse(named) as Record<string, unknown>;
      if (typeof record['data'] === 'string') {
        const data = change(record['data']);
        const hash = sha256(data);
        if (hash !== record['sha256']) renamed.set(String(record['sha256']), hash);
        Object.assign(record, { data, sha256: hash, bytes: Buffer.byteLength(data) });
      }
      return record;
    });
  return chainedLines(records);
}
