/** Answers about a session that a test made up as the server of `svc view` does, with what that server is made of. */

import { mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import type { HeldAnswer } from '@svc/protocol/viewed-session.ts';
import { eachLine } from '@svc/view-server/each-line.ts';
import { rowsOf } from '@svc/view-server/follow-rows.ts';
import { JournalPlaces } from '@svc/view-server/journal-places.ts';
import { type OpenJournal, resultOf, textsOf } from '@svc/view-server/row-texts.ts';
import { detailOf } from '@svc/view-server/rows/line-detail.ts';
import { SessionTexts } from '@svc/view-server/session-texts.ts';
import { StepPlaces } from '@svc/view-server/step-places.ts';
import { placedEvent } from '@svc/view-server/trace-index.ts';
import { changesIn } from '@svc/view-server/trace-lookups.ts';
import type { ViewedSession } from '@svc/view-server/viewed-session.ts';
import type { BodyReading, JournalReader } from '@svc/record/journal/journal-reader.ts';
import { LineFile } from '@svc/record/journal/line-file.ts';

interface Recorded {
  readonly trace: string | Buffer;
  readonly journal?: string | Buffer | undefined;
  readonly bodies?: ReadonlyMap<string, string> | undefined;
}

/** One session in files, whose owner closes it. */
export class RecordedAnswers {
  readonly #files: SessionFiles;
  readonly #texts = new SessionTexts();

  constructor(recorded: Recorded) {
    this.#files = filesOf(recorded);
  }

  /** What the server answers at the path of a session; undefined where it has none. */
  async at(path: string): Promise<unknown> {
    const { session } = this.#files;
    const [what = '', about = ''] = path.split('/');
    switch (what) {
      case 'detail':
        return (await this.#texts.ofRow(session, Number(about))) ?? undefined;
      case 'result':
        return await this.#texts.ofTask(session, about);
      case 'find':
        return await this.#texts.find(session, about);
      case 'search':
        return await this.#texts.search(session, about);
      case 'changes':
        return await this.#texts.changes(session);
      default:
        return undefined;
    }
  }

  close(): void {
    this.#files.remove();
  }
}

/** The texts of the elements of an exported page. */
export async function heldOf(recorded: Recorded): Promise<Readonly<Record<'rows' | 'lines' | 'answers', string>>> {
  const { session, remove } = filesOf(recorded);
  try {
    const [trace, file] = [session.openTrace(), session.openJournal()];
    if (trace === null) throw new Error('there is a trace');
    const rows = [...rowsOf(trace, (line) => line.toString('utf8'))].join('');
    const places = new JournalPlaces();
    if (file !== null) await places.goOn(file);
    const journal = file === null ? null : { file, places, textOf: textsIn(recorded) };
    const sought = new StepPlaces();
    let lines = '';
    let row = 0;
    for (const line of eachLine(trace, 0)) {
      if (line === null) continue;
      const event = placedEvent(line);
      const texts = textsOf(event === null ? null : sought.take(event), journal);
      lines += `${JSON.stringify({ ...detailOf(line.line.toString('utf8'), row), ...texts })}\n`;
      row += 1;
    }
    const answers: HeldAnswer[] = [['changes', await changesIn(trace)]];
    for (const [task] of places.results()) answers.push([`result/${task}`, resultOf(task, journal)]);
    trace.close();
    file?.close();
    return { rows, lines, answers: answers.map((answer) => `${JSON.stringify(answer)}\n`).join('') };
  } finally {
    remove();
  }
}

function textsIn({ bodies }: Recorded): OpenJournal['textOf'] {
  return (sha256) => {
    const text = bodies?.get(sha256);
    return text === undefined ? { why: 'There is no such text: the journal has no such text.' } : { text };
  };
}

interface SessionFiles {
  readonly session: ViewedSession;
  readonly remove: () => void;
}

function filesOf({ trace, journal, bodies }: Recorded): SessionFiles {
  const folder = mkdtempSync(join(tmpdir(), 'svc-record-'));
  writeFileSync(join(folder, 'trace'), trace);
  writeFileSync(join(folder, 'journal'), journal ?? '');
  const open = (name: string): LineFile => new LineFile(openSync(join(folder, name), 'r'));
  const body = (sha256: string): BodyReading => {
    const text = bodies?.get(sha256);
    return text === undefined ? { kind: 'damaged', why: 'the journal has no such text' } : { kind: 'text', text };
  };
  const session = {
    id: 'ses_x',
    openTrace: () => open('trace'),
    openJournal: () => (journal === undefined ? null : open('journal')),
    openReader: () => ({ reader: { body } as unknown as JournalReader, close: () => {} }),
  };
  return { session: session as unknown as ViewedSession, remove: () => rmSync(folder, { recursive: true }) };
}
