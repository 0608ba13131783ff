/** Answers about a session that a test made up as the server of `svc view` does, with what that server is made of. */

import { mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import type { HeldAnswer, JournalStep } from '@svc/protocol/viewed-session.ts';
import { JournalPlaces, stepsOf } from '@svc/svc/cli/view/journal-places.ts';
import { type OpenJournal, resultOf, textsOf } from '@svc/svc/cli/view/row-texts.ts';
import { StepPlaces } from '@svc/svc/cli/view/step-places.ts';
import { placedEvents } from '@svc/svc/cli/view/trace-index.ts';
import { LineFile } from '@svc/svc/journal/line-file.ts';

interface Recorded {
  readonly trace: string | Buffer;
  readonly journal?: string | Buffer | undefined;
  readonly bodies?: ReadonlyMap<string, string> | undefined;
}

/** At each path of the session that has an answer. */
export async function answersOf({ trace, journal, bodies }: Recorded): Promise<ReadonlyMap<string, HeldAnswer[1]>> {
  return await withFiles({ trace, journal: journal ?? '' }, async (traceFile, journalFile) => {
    const places = new JournalPlaces();
    await places.goOn(journalFile);
    const textOf = (sha256: string): ReturnType<OpenJournal['textOf']> => {
      const text = bodies?.get(sha256);
      return text === undefined ? { why: 'There is no such text: the journal has no such text.' } : { text };
    };
    const open = journal === undefined ? null : { file: journalFile, places, textOf };
    const answers = new Map<string, HeldAnswer[1]>();
    const sought = new StepPlaces();
    let row = 0;
    for (const event of placedEvents(traceFile.walk(0))) {
      answers.set(`row/${row}`, textsOf(event === null ? null : sought.take(event), open));
      row += 1;
    }
    for (const [task] of places.results()) answers.set(`result/${task}`, resultOf(task, open));
    return answers;
  });
}

export async function stepsIn(journal: string | Buffer | undefined): Promise<readonly JournalStep[]> {
  return await withFiles({ trace: '', journal: journal ?? '' }, async (_trace, file) => await stepsOf(file));
}

async function withFiles<Value>(
  texts: Readonly<Record<'trace' | 'journal', string | Buffer>>,
  use: (trace: LineFile, journal: LineFile) => Promise<Value>,
): Promise<Value> {
  const folder = mkdtempSync(join(tmpdir(), 'svc-record-'));
  const [trace, journal] = (['trace', 'journal'] as const).map((name) => {
    writeFileSync(join(folder, name), texts[name]);
    return new LineFile(openSync(join(folder, name), 'r'));
  });
  if (trace === undefined || journal === undefined) throw new Error('there are two files');
  try {
    return await use(trace, journal);
  } finally {
    trace.close();
    journal.close();
    rmSync(folder, { recursive: true });
  }
}
