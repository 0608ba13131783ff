import { mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { describe, expect, it, onTestFinished } from 'vitest';

import { LineFile } from '../journal/line-file.ts';
import { TraceLooks } from '@svc/view-server/trace-look.ts';
import { JournalPlaces } from '@svc/view-server/journal-places.ts';
import { readFactsOfTrace, type SessionFacts } from './session-facts.ts';

function fileOf(text: string): LineFile {
  const folder = mkdtempSync(join(tmpdir(), 'svc-facts-'));
  writeFileSync(join(folder, 'lines'), text);
  const file = new LineFile(openSync(join(folder, 'lines'), 'r'));
  onTestFinished(() => {
    file.close();
    rmSync(folder, { recursive: true });
  });
  return file;
}

/** What is read, and in how many parts. */
function read(file: LineFile): { readonly facts: SessionFacts; readonly parts: number } {
  const steps = readFactsOfTrace('ses_1', file);
  for (let parts = 1; ; parts += 1) {
    const { done, value } = steps.next();
    if (done === true) return { facts: value, parts };
  }
}

const mebibyte = 1024 * 1024;
const end = '{"event_type":"session_end","status":"ok"}\n';

describe('a trace that somebody wrote to be costly', () => {
  it('costs at most 100,000 lines, which are shorter than any event, in parts', async () => {
    const file = fileOf(`${'{}\n'.repeat(3_000_000)}${end}`);
    const { facts, parts } = read(file);
    expect(facts).toMatchObject({ status: 'crashed', unread_lines: 1 });
    expect(parts).toBeGreaterThanOrEqual(50);
    const { notes } = await new TraceLooks().look(file, false);
    expect(notes).toContain(
      'What stands behind line 100000 of the trace is not shown: svc writes no lines that are so short.',
    );
    expect(file.bytesRead).toBeLessThan(6 * mebibyte);
  });

  it('gives what follows a line of millions of values, which counts as unreadable', () => {
    const values = `{"event_type":"inference","usage":[${'{},'.repeat(4_000_000)}0]}\n`;
    expect(read(fileOf(`${values}${end}`)).facts).toMatchObject({ status: 'ok', tokens: 0, unread_lines: 1 });
  });
});

it('a journal of line feeds alone is not walked through', async () => {
  const file = fileOf('\n'.repeat(8 * mebibyte));
  await new JournalPlaces().goOn(file);
  expect(file.bytesRead).toBeLessThan(3 * mebibyte);
});
