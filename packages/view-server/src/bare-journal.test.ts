import { openSync, readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, it } from 'vitest';

import { RecordedSession } from '../../record/test/journal/recorded-session.ts';
import { LineFile } from '@svc/record/journal/line-file.ts';
import { BareJournal } from './bare-journal.ts';
import { eachFolder } from '../../../test/support/each-folder.ts';

let folder = '';
eachFolder('svc-bare-', (made) => {
  folder = made;
});

function bareText(path: string): string {
  const file = new LineFile(openSync(path, 'r'));
  try {
    return Buffer.concat([...new BareJournal(file).next()]).toString('utf8');
  } finally {
    file.close();
  }
}

function bareOf(text: string): string {
  const path = join(folder, 'journal.jsonl');
  writeFileSync(path, text);
  return bareText(path);
}

describe('a journal without its texts', () => {
  it('has the same records, those of texts with hash and size alone', () => {
    const session = new RecordedSession(folder)
      .task('Paint.')
      .model('I paint.', ['sh'])
      .shell('paint', 'x'.repeat(70_000))
      .model('Done.')
      .taskEnd()
      .close();
    const path = join(session.folder, 'journal.jsonl');
    const records = readFileSync(path, 'utf8')
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    const bare = bareText(path)
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(records.some(({ data }) => data === 'Paint.')).toBe(true);
    expect(records.some(({ file }) => file === true)).toBe(true);
    expect(bare).toEqual(records.map(({ data: _data, cut: _cut, ...rest }) => rest));
    expect(bare.map((record) => Object.keys(record).at(-1))).toEqual(records.map(() => 'c'));
  });

  it('keeps what is no record, and nothing of a text that something else has written', () => {
    const hash = 'a'.repeat(64);
    expect(bareOf(`{"n":0,"k":"body","bytes":3,"sha256":"${hash}","data":"abc","c":"x"}\n`)).toBe(
      `{"n":0,"k":"body","bytes":3,"sha256":"${hash}","c":"x"}\n`,
    );
    const odd = `no record\n\n{"n":1,"k":"body","sha256":"${hash}","bytes":3,"data":"abc\n{"k":"body"}\n`;
    expect(bareOf(odd)).toBe(odd);
  });

  it('ends with the last line that is whole, wherever the file was cut', () => {
    const session = new RecordedSession(folder).task('Paint.').model('Done.').taskEnd().close();
    const path = join(session.folder, 'journal.jsonl');
    const whole = bareText(path);
    const bytes = readFileSync(path);
    for (let cut = bytes.length - 1; cut >= 0; cut -= 7) {
      truncateSync(path, cut);
      const lines = bytes.subarray(0, cut).toString('latin1').split('\n').length - 1;
      const expected = whole
        .split('\n')
        .slice(0, lines)
        .map((line) => `${line}\n`);
      expect(bareText(path)).toBe(expected.join(''));
    }
  });

  it('goes over lines of megabytes, and stops before one that no record can be', () => {
    const long = `{"n":1,"k":"note","text":"${'é'.repeat(5_000_000)}"}\n`;
    expect(bareOf(`${long}{"n":2}\n`)).toBe(`${long}{"n":2}\n`);
    const tooLong = `{"n":1,"text":"${'x'.repeat(80_000_000)}"}\n`;
    const path = join(folder, 'journal.jsonl');
    writeFileSync(path, `{"n":0}\n${tooLong}{"n":2}\n`);
    const file = new LineFile(openSync(path, 'r'));
    const journal = new BareJournal(file);
    expect(Buffer.concat([...journal.next()]).toString('utf8')).toBe('{"n":0}\n');
    expect(journal.isTooLong).toBe(true);
    expect([...journal.next()]).toEqual([]);
    file.close();
  });
});
