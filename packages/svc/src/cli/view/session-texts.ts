/** Looks up what a page asks of the sessions that are shown: a line of the trace with its texts, what a task came to, and what is found in all lines. */

import type { ShownText } from '@svc/protocol/shown-text.ts';
import type { FileChanges, StepDetail } from '@svc/protocol/viewed-rows.ts';
import type { JournalStep } from '@svc/protocol/viewed-session.ts';
import type { LineFile } from '../../journal/line-file.ts';
import { JournalPlaces, stepsOf } from './journal-places.ts';
import { type OpenJournal, resultOf, textIn, textsOf } from './row-texts.ts';
import { detailOf } from './rows/line-detail.ts';
import { TraceIndex } from './trace-index.ts';
import { changesIn, rowOfEvent, rowsWith } from './trace-lookups.ts';
import type { ViewedSession } from './viewed-session.ts';

/** Sessions whose records were looked through last. */
const mostKnown = 4;

interface Known {
  readonly trace: TraceIndex;
  readonly journal: JournalPlaces;
  searches: number;
}

export class SessionTexts {
  readonly #known = new Map<string, Known>();

  /** Of a line of the trace, by its number from 0; null for one that is not there. */
  async ofRow(session: ViewedSession, row: number): Promise<StepDetail | null> {
    const line = await withTrace(session, async (trace) => await this.#of(session).trace.line(trace, row), null);
    if (line === null) return null;
    const texts = await this.#withJournal(session, (journal) => textsOf(line.sought, journal));
    return { ...detailOf(line.text, row), ...texts };
  }

  /** The row of an event; -1 for none. */
  async find(session: ViewedSession, eventId: string): Promise<number> {
    return await withTrace(session, async (trace) => await rowOfEvent(trace, eventId), -1);
  }

  /** A later search in the same session ends an earlier one. */
  async search(session: ViewedSession, words: string): Promise<readonly number[]> {
    const known = this.#of(session);
    known.searches += 1;
    const mine = known.searches;
    return await withTrace(session, async (trace) => await rowsWith(trace, words, () => mine === known.searches), []);
  }

  async changes(session: ViewedSession): Promise<readonly FileChanges[]> {
    return await withTrace(session, changesIn, []);
  }

  /** What a task came to, by its id. */
  async ofTask(session: ViewedSession, task: string): Promise<ShownText> {
    return await this.#withJournal(session, (journal) => resultOf(task, journal));
  }

  /** Of a session without a journal, none. */
  async steps(session: ViewedSession): Promise<readonly JournalStep[]> {
    const file = session.openJournal();
    try {
      return file === null ? [] : await stepsOf(file);
    } finally {
      file?.close();
    }
  }

  async #withJournal<Value>(session: ViewedSession, use: (journal: OpenJournal | null) => Value): Promise<Value> {
    const file = session.openJournal();
    const open = file === null ? null : session.openReader();
    try {
      if (file === null || open === null) return use(null);
      const places = this.#of(session).journal;
      await places.goOn(file);
      return use({ file, places, textOf: (sha256) => textIn(open.reader, sha256) });
    } finally {
      file?.close();
      open?.close();
    }
  }

  #of({ id }: ViewedSession): Known {
    const known = this.#known.get(id) ?? { trace: new TraceIndex(), journal: new JournalPlaces(), searches: 0 };
    // The newest is the last.
    this.#known.delete(id);
    this.#known.set(id, known);
    const [oldest] = this.#known.keys();
    if (this.#known.size > mostKnown && oldest !== undefined) this.#known.delete(oldest);
    return known;
  }
}

/** `otherwise` without a trace. */
async function withTrace<Value>(
  session: ViewedSession,
  use: (trace: LineFile) => Promise<Value>,
  otherwise: Value,
): Promise<Value> {
  const trace = session.openTrace();
  try {
    return trace === null ? otherwise : await use(trace);
  } finally {
    trace?.close();
  }
}
