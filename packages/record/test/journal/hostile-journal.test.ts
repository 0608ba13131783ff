import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterEach, beforeEach, expect, it } from 'vitest';

import { diagnosticOf } from '@svc/kit/diagnostics/diagnostic.ts';
import { HeldDirectory } from '@svc/kit/files/held-directory.ts';
import { runSync } from '@svc/kit/yield-to-loop.ts';
import { sha256Hex } from '@svc/kit/sha256.ts';
import { filesOf } from '@svc/svc/look-back/trace/export.ts';
import { divergenceOf } from '../../src/journal/compare-sessions.ts';
import { JournalReader } from '../../src/journal/journal-reader.ts';
import { encodeLine, firstChain } from '../../src/journal/record-line.ts';
import { readRecording } from '@svc/session/replay/recorded-history.ts';
import { mebibyte, RecordedSession, roomy, taskId } from './recorded-session.ts';

let root = '';
const held: { close(): void }[] = [];

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'svc-journal-'));
});

afterEach(() => {
  for (const each of held.splice(0)) each.close();
  rmSync(root, { recursive: true, force: true });
});

function readerOf(folder: string): JournalReader {
  const directory = HeldDirectory.at(folder);
  const reader = JournalReader.open(directory, process.getuid?.() ?? null);
  if (reader === null) throw new Error('there is no journal');
  held.push(reader, directory);
  return reader;
}

/** Ends the journal with records of anybody's making, tied to those before. */
function goOn(folder: string, records: readonly { readonly k: string }[]): void {
  const file = join(folder, 'journal.jsonl');
  const lines = readFileSync(file, 'utf8');
  let chain = /"c":"([0-9a-f]{16})"\}\n$/.exec(lines)?.[1] ?? firstChain;
  const added = records.map((record, index) => {
    const encoded = encodeLine(lines.split('\n').length - 1 + index, record, chain);
    ({ chain } = encoded);
    return encoded.line;
  });
  writeFileSync(file, lines + added.join(''));
}

it('a hostile journal gives the texts of all steps in about one pass over its indexes', () => {
  const session = new RecordedSession(root).task('Go.').model('I run them.', ['sh']);
  const inputs = Array.from({ length: 3000 }, (_, index) => ({ command: `echo ${index}` }));
  for (const { command } of inputs) session.shell(command, 'ok');
  session.close();
  const reader = readerOf(session.folder);
  const starts = [...reader.scan(['start']).records()].flatMap(({ record }) => ('in' in record ? [record.in] : []));
  const before = reader.bytesRead;
  const found = starts.map((hash) => reader.body(hash));
  expect(found).toEqual(inputs.map((input) => ({ kind: 'text', text: JSON.stringify(input) })));
  // It reads the line of each text, 16 KiB at a time, and each index once.
  expect(reader.bytesRead - before).toBeLessThan(starts.length * 17 * 1024 + 4 * reader.size);
});

it('a hostile journal gives texts that were written after it was looked at first, once that is done anew', () => {
  const session = new RecordedSession(root).task('Go.').model('I run them.', ['sh']);
  const reader = readerOf(session.folder);
  const hash = session.json({ command: 'npm test' });
  expect(reader.body(hash).kind).toBe('damaged');
  session.shell('npm test', 'ok');
  reader.renew();
  expect(reader.body(hash)).toEqual({ kind: 'text', text: '{"command":"npm test"}' });
  session.close();
});

it.each([10 ** 30, Number.MAX_SAFE_INTEGER, 1_000_000])(
  'a hostile journal is damaged where its last index leads to byte %d',
  (before) => {
    const { folder } = new RecordedSession(root).task('Go.').close();
    const index = { k: 'index', before: 0, steps: [], bodies: [], ended: [] };
    const file = join(folder, 'journal.jsonl');
    goOn(folder, [index]);
    const lines = readFileSync(file, 'utf8').split(/(?<=\n)/);
    // A number that JSON has other words for is spelled in digits.
    const digits = BigInt(before).toString();
    const text = (lines.at(-1) ?? '').replace('"before":0', `"before":${digits}`).replace(/,"c":.*\n$/, '}');
    writeFileSync(file, lines.slice(0, -1).join('') + chained(text, lines.at(-2) ?? ''));
    expect(diagnosticOf(() => readerOf(folder).lastStep())).toMatchObject({ code: 'E-RUN-073' });
  },
);

function chained(text: string, before: string): string {
  const chain = /"c":"([0-9a-f]{16})"\}\n$/.exec(before)?.[1] ?? firstChain;
  return `${text.slice(0, -1)},"c":"${sha256Hex(chain + text).slice(0, 16)}"}\n`;
}

it('a hostile journal is exported with each long text once, however often it names it', () => {
  const session = new RecordedSession(root).task('x'.repeat(mebibyte)).close();
  const lines = readFileSync(join(session.folder, 'journal.jsonl'), 'utf8').split('\n');
  const {
    n: _n,
    c: _c,
    ...body
  } = JSON.parse(lines.find((line) => line.includes('"file":true')) ?? '') as {
    n: number;
    c: string;
    k: string;
  };
  goOn(
    session.folder,
    Array.from({ length: 5 }, () => body),
  );
  const { files, damage } = filesOf({ reader: readerOf(session.folder) });
  expect({ files: files.length, damage }).toEqual({ files: 3, damage: null });
});

it.each([
  [
    'has too much in its long texts',
    2,
    300 * mebibyte,
    /^the session is too large to be exported: it has more than 500 MiB$/,
  ],
  ['has too many of them', 16_384, 100, /: its long texts and its journal are more than 16384 files$/],
])('a hostile journal is not exported where it %s, before one of them is read', (_, count, bytes, message) => {
  const { folder } = new RecordedSession(root).task('Go.').close();
  goOn(
    folder,
    Array.from({ length: count }, (_text, index) => ({
      k: 'body',
      sha256: sha256Hex(String(index)),
      bytes,
      file: true,
    })),
  );
  const refused = diagnosticOf(() => void filesOf({ reader: readerOf(folder) }));
  expect(refused).toMatchObject({ code: 'E-RUN-068', message: expect.stringMatching(message) });
});

it('a hostile journal is exported up to a text that is not UTF-8, or a record of another shape: no import takes those', () => {
  const { folder } = new RecordedSession(root).task('Go.').close();
  mkdirSync(join(folder, 'bodies'));
  const bytes = Buffer.alloc(70_000, 0xff);
  writeFileSync(join(folder, 'bodies', sha256Hex(bytes)), bytes);
  const body = { k: 'body', sha256: sha256Hex(bytes), bytes: bytes.length, file: true };
  goOn(folder, [body]);
  expect(filesOf({ reader: readerOf(folder) })).toMatchObject({
    files: [{ name: 'journal.jsonl' }],
    damage: { why: 'names a text that is not there: the text is not UTF-8' },
  });
  const ended = { k: 'task-end', id: 7 };
  const other = new RecordedSession(root, { session: '2' }).task('Go.').close();
  goOn(other.folder, [ended]);
  expect(filesOf({ reader: readerOf(other.folder) }).damage?.why).toMatch(/^lacks what a record task-end has/);
});

it('a hostile journal is read in memory that grows with its records, not with the messages of all its requests', () => {
  const session = new RecordedSession(root).task('Go.');
  for (let turn = 0; turn < 8000; turn += 1) session.model('On.');
  session.close();
  globalThis.gc?.();
  const before = process.memoryUsage().heapUsed;
  const { historyEvents, missing } = readRecording(readerOf(session.folder));
  const grown = process.memoryUsage().heapUsed - before;
  expect(missing).toBeNull();
  const last = historyEvents.findLast(({ kind }) => kind === 'start');
  expect(last).toMatchObject({ place: `${taskId('1')}/1/m8000` });
  expect((last as { input: { messages: readonly unknown[] } }).input.messages).toHaveLength(8000);
  // Lists of all messages of all requests have 8 bytes for each of 32 million.
  expect(grown).toBeLessThan(160 * mebibyte);
});

it('a hostile journal is read with each of its texts in memory once, however many records name it', () => {
  const tools = Array.from({ length: 3000 }, (_, index) => ({
    name: `tool_${index}`,
    inputSchema: { a: { b: ['x'] } },
  }));
  const session = new RecordedSession(root, { tools, system: 'x'.repeat(mebibyte) }).task('Go.');
  for (let turn = 0; turn < 500; turn += 1) session.model('On.');
  session.close();
  globalThis.gc?.();
  const before = process.memoryUsage().heapUsed;
  const { historyEvents, missing } = readRecording(readerOf(session.folder));
  const grown = process.memoryUsage().heapUsed - before;
  expect(missing).toBeNull();
  expect(historyEvents.filter(({ kind }) => kind === 'start')).toHaveLength(500);
  // 500 times the prompt are 500 MiB, 500 times the tools some 250.
  expect(grown).toBeLessThan(40 * mebibyte);
});

it('a hostile journal is refused where its texts hold more values than a replay has memory for, before they are made', () => {
  const session = new RecordedSession(root, { limits: { ...roomy, maxBody: 16 * mebibyte } }).task('Go.');
  const many = runSync(session.journal.body(`[${'[],'.repeat(4.2 * mebibyte)}[]]`));
  session.journal.append({ k: 'start', e: `${taskId('1')}/1/m1/t1`, port: 'tool', name: 'sh', in: many });
  session.close();
  expect(() => readRecording(readerOf(session.folder))).toThrow('its texts hold more values than there is memory for');
});

it('a hostile journal is refused where a session would have begun with more tools than any has', () => {
  const tools = Array.from({ length: 300_000 }, () => ({}));
  const session = new RecordedSession(root, { tools, limits: { ...roomy, maxBody: 16 * mebibyte } });
  session.task('Go.').close();
  expect(() => readRecording(readerOf(session.folder))).toThrow('its texts hold more values than there is memory for');
});

it.each(['tools', 'grants', 'hooks', 'settings'])(
  'a hostile journal is refused where what it began with holds more values than there is memory for: its %s',
  (key) => {
    const session = new RecordedSession(root, { limits: { ...roomy, maxBody: 16 * mebibyte } });
    const many = runSync(session.journal.body(`[${'[],'.repeat(4.2 * mebibyte)}[]]`));
    const few = session.json([]);
    const setup = { manifest: few, lock: null, system: few, tools: few, grants: few, hooks: few, settings: few };
    session.journal.append({ k: 'setup', ...setup, [key]: many });
    session.close();
    expect(() => readRecording(readerOf(session.folder))).toThrow(
      'its texts hold more values than there is memory for',
    );
  },
);

it('a hostile journal is read up to a log of imports that is longer than a session keeps any', () => {
  const session = new RecordedSession(root, { limits: { ...roomy, maxBody: 16 * mebibyte } }).task('Go.');
  const place = `${taskId('1')}/1/m1/t1`;
  const io = (name: string): void => {
    const value = session.json([[name, [], { ok: 1 }]]);
    session.journal.append({ k: 'io', e: place, instance: 1, value });
  };
  io('x'.repeat(2 * mebibyte - 20));
  io('x'.repeat(2 * mebibyte));
  session.close();
  const { historyEvents, missing } = readRecording(readerOf(session.folder));
  expect(historyEvents.filter(({ kind }) => kind === 'imports')).toHaveLength(1);
  expect(missing).toMatchObject({ place, why: expect.stringMatching(/ is no log of imports$/) });
});

it('a hostile journal holds no value that is nested too deep to be walked', () => {
  const session = new RecordedSession(root).task('Go.');
  const deep = session.json(JSON.parse(`${'['.repeat(4000)}${']'.repeat(4000)}`));
  session.journal.append({ k: 'start', e: `${taskId('1')}/1/m1/t1`, port: 'tool', name: 'sh', in: deep });
  session.close();
  expect(readRecording(readerOf(session.folder)).missing?.why).toMatch(/^the text [0-9a-f]{12}… is nested too deep$/);
});

it('a hostile journal is compared in a few passes, however its requests are put together', () => {
  const message = { role: 'user', content: [{ type: 'text', text: 'Go.' }] } as const;
  const [a, b] = ['1', '2'].map((session) => new RecordedSession(root, { session }).task('Go.'));
  for (let turn = 1; turn <= 200; turn += 1) {
    a?.model('On.');
    const said = { role: 'assistant', content: [{ type: 'text', text: 'On.' }] } as const;
    b?.compacted([message, ...Array.from({ length: turn - 1 }, () => said)]).model('On.');
  }
  const first = readerOf(a?.close().folder ?? '');
  const second = readerOf(b?.close().folder ?? '');
  const parting = divergenceOf(
    () => first.skim(() => {}),
    () => second.skim(() => {}),
    () => false,
  );
  expect(parting).toBeNull();
  expect(first.bytesRead).toBeLessThan(10 * (first.size + mebibyte));
});
