import {
  appendFileSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { Diagnostic, diagnosticOf } from '@svc/kit/diagnostics/diagnostic.ts';
import { HeldDirectory } from '@svc/kit/files/held-directory.ts';
import { runSync } from '@svc/kit/yield-to-loop.ts';
import { sha256Hex } from '@svc/kit/sha256.ts';
import { anyCharacter } from '../../../../test/support/any-character.ts';
import { JournalReader } from '../../src/journal/journal-reader.ts';
import { encodeLine, firstChain } from '../../src/journal/record-line.ts';
import type { JournalRecord } from '../../src/journal/records.ts';
import { mebibyte, RecordedSession, taskId } from './recorded-session.ts';

let root = '';
let held: HeldDirectory[] = [];

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'svc-journal-'));
});

afterEach(() => {
  for (const directory of held) directory.close();
  held = [];
  rmSync(root, { recursive: true, force: true });
});

const owner = process.getuid?.() ?? null;

function read(folder: string): JournalReader {
  const directory = HeldDirectory.at(folder);
  held.push(directory);
  const reader = JournalReader.open(directory, owner);
  if (reader === null) throw new Error('there is no journal');
  return reader;
}

function write(text: string | Buffer): string {
  writeFileSync(join(root, 'journal.jsonl'), text);
  return root;
}

interface Walked {
  readonly records: readonly JournalRecord[];
  readonly damage: { readonly record: number; readonly byte: number; readonly why: string } | null;
}

function walk(folder: string): Walked {
  const directory = HeldDirectory.at(folder);
  const reader = JournalReader.open(directory, owner);
  const scan = reader?.scan();
  if (scan === undefined) throw new Error('there is no journal');
  const records = [...scan.records()].map(({ record }) => record);
  reader?.close();
  directory.close();
  return { records, damage: scan.damage };
}

/** The lines of a session of two tasks, each with its line feed. */
function session(): readonly string[] {
  const { folder } = new RecordedSession(root)
    .task('Do the tests pass?')
    .model('I run them.', ['sh'])
    .shell('npm test', '1 failed', 1)
    .model('No.')
    .taskEnd()
    .close();
  return readFileSync(join(folder, 'journal.jsonl'), 'utf8').split(/(?<=\n)/);
}

/** A journal whose numbers and chain are right, whatever is in its records. */
function chained(records: readonly { readonly k: string }[]): string {
  let chain = firstChain;
  return records
    .map((record, n) => {
      const encoded = encodeLine(n, record, chain);
      ({ chain } = encoded);
      return encoded.line;
    })
    .join('');
}

const open = JSON.parse(
  '{"k":"open","at":1,"version":1,"session":"ses_1","epoch":1,"svc":"0","node":"20","capture":"content","trusted":true,"capsule":{"name":"a","version":"1.0.0"}}',
) as { k: string };

describe('a journal that is read', () => {
  it('gives back what was written, record by record', () => {
    const { records, damage } = walk(new RecordedSession(root).task('Hello').model('Hi.').taskEnd().close().folder);
    expect(damage).toBeNull();
    expect(records.map(({ n }) => n)).toEqual(records.map((_, n) => n));
    expect(records.filter(({ k }) => k !== 'body')).toMatchObject([
      { k: 'open', session: 'ses_00000000000000000000000000000001', capture: 'content' },
      { k: 'setup', lock: null },
      { k: 'task', id: taskId('1'), by: 'start' },
      { k: 'start', e: `${taskId('1')}/1/m1`, port: 'model', base: null },
      { k: 'end', e: `${taskId('1')}/1/m1`, ms: 1200, stop: 'end_turn', usage: { in: 1204, out: 88, cache: 1100 } },
      { k: 'task-end', state: 'completed', turns: 1 },
      { k: 'index' },
      { k: 'close', status: 'ok' },
    ]);
  });

  it('gives any text back, at whichever place and with whichever characters', () => {
    const { journal, folder } = new RecordedSession(root);
    const kept = new Map<string, string>();
    fc.assert(
      fc.property(fc.string({ unit: anyCharacter, maxLength: 300 }), fc.constantFrom(1, 1, 500), (unit, times) => {
        const text = unit.repeat(times);
        kept.set(runSync(journal.body(text)), text.toWellFormed());
      }),
      { numRuns: 400 },
    );
    journal.close();
    const reader = read(folder);
    for (const [sha256, text] of kept) expect(reader.body(sha256)).toEqual({ kind: 'text', text });
    reader.close();
    expect(walk(folder).damage).toBeNull();
  });

  it('ends at its last line feed, wherever the writer was ended', () => {
    const { folder } = new RecordedSession(root).close();
    const bytes = readFileSync(join(folder, 'journal.jsonl'));
    const starts = new Set([0]);
    for (let at = bytes.indexOf('\n'); at >= 0; at = bytes.indexOf('\n', at + 1)) starts.add(at + 1);
    const whole = [...starts];
    for (let length = 0; length <= bytes.length; length += 1) {
      const { records, damage } = walk(write(bytes.subarray(0, length)));
      expect(damage).toBeNull();
      expect(records).toHaveLength(whole.filter((start) => start <= length).length - 1);
    }
  });

  it('goes on where it ended once more is there', () => {
    const lines = session();
    const reader = read(write(lines.slice(0, 3).join('')));
    const scan = reader.scan();
    expect([...scan.records()]).toHaveLength(3);
    appendFileSync(join(root, 'journal.jsonl'), (lines[3] ?? '').slice(0, 20));
    expect([...scan.records()]).toHaveLength(0);
    appendFileSync(join(root, 'journal.jsonl'), (lines[3] ?? '').slice(20) + (lines[4] ?? ''));
    expect([...scan.records()].map(({ record }) => record.n)).toEqual([3, 4]);
    reader.close();
  });

  it('has none of what a folder does not hold', () => {
    const directory = HeldDirectory.at(root);
    expect(JournalReader.open(directory, owner)).toBeNull();
    directory.close();
  });
});

describe('a journal that is damaged', () => {
  const byteOf = (lines: readonly string[], record: number): number =>
    lines.slice(0, record).reduce((sum, line) => sum + Buffer.byteLength(line), 0);

  it('counts up to the line in which a byte was changed, whichever', () => {
    const lines = session();
    const text = lines.join('');
    fc.assert(
      fc.property(fc.nat(text.length - 1), fc.integer({ min: 1, max: 255 }), (at, change) => {
        const bytes = Buffer.from(text);
        bytes[at] = (bytes[at] ?? 0) ^ change;
        const record = text.slice(0, at).split('\n').length - 1;
        const { records, damage } = walk(write(bytes));
        // A line feed that is gone at the very end makes a tail of the last line.
        if (at === text.length - 1) {
          expect({ count: records.length, damage }).toEqual({ count: lines.length - 1, damage: null });
          return;
        }
        expect(records).toHaveLength(record);
        expect(damage).toMatchObject({ record, byte: byteOf(lines, record) });
      }),
      { numRuns: 300 },
    );
  });

  it('counts up to a line that was left out, put in twice or moved', () => {
    const lines = session();
    const without = lines.filter((_, index) => index !== 4);
    expect(walk(write(without.join('')))).toMatchObject({
      damage: { record: 4, byte: byteOf(lines, 4), why: 'has number 5' },
    });
    const twice = [...lines.slice(0, 5), ...lines.slice(4)];
    expect(walk(write(twice.join('')))).toMatchObject({ damage: { record: 5, why: 'has number 4' } });
    expect(walk(write([...lines].toReversed().join('')))).toMatchObject({
      records: [],
      damage: { record: 0, byte: 0 },
    });
  });

  it.each([
    ['a kind that nobody knows', [open, { k: 'tree', root: 'x' }], 1, 'is of the unknown kind tree'],
    ['another version', [{ ...open, version: 2 }], 0, 'is of version 2 of the format, and this svc knows 1'],
    [
      'another beginning',
      [{ k: 'close', at: 1, status: 'ok', reason: null }],
      0,
      'is not the record open, with which a journal begins',
    ],
    [
      'a key of the wrong type',
      [open, { k: 'in', at: 1, what: 'rain' }],
      1,
      'lacks what a record in has, or has it wrong: what',
    ],
    ['a key too few', [open, { k: 'task-end', at: 1 }], 1, 'lacks what a record task-end has, or has it wrong: id'],
  ])('counts up to a record with %s', (_, records, record, why) => {
    const text = chained(records);
    expect(walk(write(text))).toMatchObject({ damage: { record, why } });
    expect(walk(root).records).toHaveLength(record);
  });

  it.each(['', 'no journal\n', '{}\n', '[1]\n', '{"n":0,"k":"open"}\n', `${'x'.repeat(100_000)}\n`])(
    'counts for nothing where it holds %j',
    (text) => {
      const { records, damage } = walk(write(text));
      expect(records).toEqual([]);
      expect(damage?.why ?? '').toBe(text === '' ? '' : 'does not begin and end as a record does');
    },
  );

  it('gives at most one longest line', () => {
    const { records, damage } = walk(write(`${chained([open])}${'x'.repeat(17 * mebibyte)}`));
    expect(records).toHaveLength(1);
    expect(damage).toMatchObject({ record: 1, why: 'is longer than a record can be' });
  });

  it('fails by name when a step is looked up in it', () => {
    const lines = [...session()];
    const last = lines.length - 1;
    lines[last] = (lines[last] ?? '').replace('"ok"', '"no"');
    const reader = read(write(lines.join('')));
    const fault = diagnosticOf(() => reader.step(1));
    expect(fault).toBeInstanceOf(Diagnostic);
    expect(fault?.code).toBe('E-RUN-073');
    expect(fault?.message).toBe(
      `the journal is damaged: record ${last}, at byte ${byteOf(lines, last)}, does not fit the chain`,
    );
    reader.close();
  });

  it('fails by name when an index is invalid', () => {
    const none = { k: 'index', before: null, steps: 5, bodies: [], ended: [] } as { k: string };
    const reader = read(write(chained([open, none])));
    for (const look of [() => reader.lastStep(), () => reader.step(1), () => reader.body('0'.repeat(64))]) {
      expect(diagnosticOf(() => void look())?.message).toMatch(
        /^the journal is damaged: record 1, at byte \d+, lacks what/,
      );
    }
    reader.close();
  });

  it('leads nobody in a circle by its indexes', () => {
    const index = (before: number): { k: string } =>
      ({ k: 'index', steps: [], bodies: [], ended: [], before }) as { k: string };
    const start = Buffer.byteLength(chained([open]));
    const reader = read(write(chained([open, index(start), index(start)])));
    expect(diagnosticOf(() => reader.body('0'.repeat(64)))?.message).toMatch(/record 1, at byte \d+, leads forward$/);
    reader.close();
  });
});

describe('a text of a journal that is read', () => {
  function recorded(): { readonly folder: string; readonly long: string; readonly short: string } {
    const { folder, journal } = new RecordedSession(root);
    const [long, short] = [runSync(journal.body('x'.repeat(70_000))), runSync(journal.body('short'))];
    journal.close();
    return { folder, long, short };
  }

  it('fails as damaged when its file is missing, has another size or other bytes', () => {
    const { folder, long, short } = recorded();
    const file = join(folder, 'bodies', long);
    const seen = (): unknown => {
      const reader = read(folder);
      expect(reader.body(short)).toEqual({ kind: 'text', text: 'short' });
      const found = reader.body(long);
      reader.close();
      return found;
    };
    expect(seen()).toEqual({ kind: 'text', text: 'x'.repeat(70_000) });
    writeFileSync(file, 'y'.repeat(70_000));
    expect(seen()).toEqual({ kind: 'damaged', why: 'the text has another hash' });
    writeFileSync(file, 'x'.repeat(70_001));
    expect(seen()).toEqual({ kind: 'damaged', why: 'its file has another size' });
    rmSync(file);
    expect(seen()).toEqual({ kind: 'damaged', why: 'its file is missing' });
    rmSync(join(folder, 'bodies'), { recursive: true });
    expect(seen()).toEqual({ kind: 'damaged', why: 'its file is missing' });
  });

  it('fails as damaged when its line has another hash than its text', () => {
    const sha256 = sha256Hex('one');
    const reader = read(write(chained([open, { k: 'body', sha256, bytes: 3, data: 'two' } as { k: string }])));
    expect(reader.body(sha256)).toEqual({ kind: 'damaged', why: 'the text has another hash' });
    expect(reader.body(sha256Hex('three'))).toEqual({ kind: 'damaged', why: 'the journal has no such text' });
    reader.close();
  });

  it('says where it was cut or not kept', () => {
    const limits = { maxBody: 20_000, maxBytes: mebibyte };
    const cut = new RecordedSession(root, { limits });
    const sha256 = runSync(cut.journal.body('x'.repeat(30_000)));
    cut.journal.close();
    const reader = read(cut.folder);
    const end = 'x'.repeat(4096);
    expect(reader.body(sha256)).toEqual({ kind: 'cut', bytes: 30_000, head: end, tail: end });
    reader.close();
    const meta = new RecordedSession(root, { session: '2', capture: 'meta' });
    const hash = runSync(meta.journal.body('a word'));
    meta.journal.close();
    const other = read(meta.folder);
    expect(other.body(hash)).toEqual({ kind: 'not kept', bytes: 6 });
    other.close();
  });
});

describe('a foreign file in the folder of a session', () => {
  it('stays unread behind a link, wherever that leads', () => {
    const { folder, journal } = new RecordedSession(root);
    const long = runSync(journal.body('x'.repeat(70_000)));
    journal.close();
    renameSync(join(folder, 'bodies'), join(root, 'elsewhere'));
    symlinkSync(join(root, 'elsewhere'), join(folder, 'bodies'));
    const reader = read(folder);
    expect(diagnosticOf(() => void reader.body(long))?.code).toBe('E-RUN-072');
    reader.close();
    rmSync(join(folder, 'bodies'));
    mkdirSync(join(folder, 'bodies'));
    symlinkSync(join(root, 'elsewhere', long), join(folder, 'bodies', long));
    const second = read(folder);
    expect(diagnosticOf(() => void second.body(long))?.message).toBe(
      `the folder of the session cannot be trusted: ${long} is a link`,
    );
    second.close();
    renameSync(join(folder, 'journal.jsonl'), join(root, 'journal'));
    symlinkSync(join(root, 'journal'), join(folder, 'journal.jsonl'));
    expect(diagnosticOf(() => void read(folder))?.message).toBe(
      'the folder of the session cannot be trusted: journal.jsonl is a link',
    );
  });

  it.skipIf(owner !== 0)('stays unread when it belongs to another user (needs root, to give it away)', () => {
    const { folder } = new RecordedSession(root).close();
    chownSync(join(folder, 'journal.jsonl'), 65_534, 65_534);
    expect(diagnosticOf(() => void read(folder))?.message).toBe(
      'the folder of the session cannot be trusted: journal.jsonl belongs to user 65534',
    );
  });
});

describe('a step of a journal', () => {
  it('comes with its end, in whichever part of the file the two are', () => {
    const recorded = new RecordedSession(root);
    const { journal } = recorded;
    recorded.task('A long one');
    const place = (index: number): string => `${taskId('1')}/1/m1/t${index}`;
    const total = 700;
    // Each ends 300 steps later, which is several indexes further on; the last ones do not end at all.
    for (let index = 1; index <= total; index += 1) {
      journal.append({ k: 'start', e: place(index), port: 'tool', name: `t${index}`, in: recorded.json(index) });
      if (index % 10 === 0)
        journal.append({ k: 'ask', e: place(index), what: 'input', value: recorded.json('Which?') });
      if (index > 300) journal.append({ k: 'end', e: place(index - 300), ms: index, value: null, lost: 'canceled' });
    }
    const check = (): void => {
      const reader = read(recorded.folder);
      expect(reader.lastStep()).toBe(total);
      for (let index = 1; index <= total; index += 1) {
        const step = reader.step(index);
        expect(step).toMatchObject({ number: index, start: { name: `t${index}`, e: place(index) } });
        expect(step?.end?.ms ?? null).toBe(index + 300 > total ? null : index + 300);
      }
      const asked = reader.step(20);
      expect(asked === null ? [] : [...reader.within(asked, mebibyte)].map(({ k, e }) => [k, e])).toEqual([
        ['ask', place(20)],
      ]);
      expect(reader.step(0)).toBeNull();
      expect(reader.step(total + 1)).toBeNull();
      reader.close();
    };
    check();
    recorded.close();
    check();
  });

  it('comes with its texts from a long journal without a read of the whole', () => {
    // A gigabyte with JOURNAL_MEBIBYTES=1024.
    const mebibytes = Number(process.env['JOURNAL_MEBIBYTES'] ?? '48');
    const maxBytes = 4096 * mebibyte;
    const recorded = new RecordedSession(root, { limits: { maxBody: mebibyte, maxBytes } }).task('A long one');
    for (let turn = 1; turn <= mebibytes * 16; turn += 1) {
      recorded.model(`${turn} `, ['sh']).shell('cat', `${turn} ${'x'.repeat(62_000)}`);
    }
    recorded.close();
    const reader = read(recorded.folder);
    expect(reader.size).toBeGreaterThan(mebibytes * 0.9 * mebibyte);
    const last = reader.lastStep();
    for (const number of [1, 2, Math.floor(last / 2), last]) {
      const before = reader.bytesRead;
      const step = reader.step(number);
      expect(step?.number).toBe(number);
      const { start, end } = step ?? {};
      const wanted = [end?.value ?? '', ...(start?.port === 'model' ? [start.fixed, ...start.add] : [start?.in ?? ''])];
      for (const sha256 of wanted) expect(reader.body(sha256).kind).toBe('text');
      // The beginnings of all indexes, a few of them whole, and what was asked for.
      const most = (6 + mebibytes / 4096) * mebibyte;
      expect(reader.bytesRead - before).toBeLessThan(most);
    }
    reader.close();
  });
});
