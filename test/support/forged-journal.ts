import { createHash } from 'node:crypto';

/** The text of a journal with other texts in it, tied together anew, as somebody would make it who wants it to be believed. */
export function forgedJournal(journal: string, change: (text: string) => string): string {
  const lines = journal.split('\n').slice(0, -1);
  const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');
  const renamed = new Map<string, string>();
  let chain = '0'.repeat(16);
  return lines
    .filter((line) => !line.includes('"k":"index"'))
    .map((line, n) => {
      const named = [...renamed].reduce((text, [from, to]) => text.replaceAll(from, to), line);
      const { c: _, ...record } = JSON.parse(named) as Record<string, unknown>;
      if (typeof record['data'] === 'string') {
        const data = change(record['data']);
        const hash = sha256(data);
        if (hash !== record['sha256']) renamed.set(String(record['sha256']), hash);
        Object.assign(record, { data, sha256: hash, bytes: Buffer.byteLength(data) });
      }
      const text = JSON.stringify({ ...record, n });
      chain = sha256(chain + text).slice(0, 16);
      return `${text.slice(0, -1)},"c":"${chain}"}\n`;
    })
    .join('');
}
