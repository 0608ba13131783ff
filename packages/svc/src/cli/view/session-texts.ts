/** Looks up texts of the sessions that are shown: of a line of the trace, of a task, and the steps of the whole journal. */

import type { ShownText } from '@svc/protocol/shown-text.ts';
import type { JournalStep, StepTexts } from '@svc/protocol/viewed-session.ts';
import { JournalPlaces, stepsOf } from './journal-places.ts';
import { type OpenJournal, resultOf, textIn, textsOf } from './row-texts.ts';
import { TraceIndex } from './trace-index.ts';
import type { ViewedSession } from './viewed-session.ts';

/** Sessions whose records were looked through last. */
const mostKnown = 4;

interface Known {
  readonly trace: TraceIndex;
  readonly journal: JournalPlaces;
}

export class SessionTexts {
  readonly #known = new Map<string, Known>();

  /** Of a line of the trace, by its number from 0; of one that is not there, nothing. */
  async ofRow(session: ViewedSession, row: number): Promise<StepTexts> {
    const trace = session.openTrace();
    try {
      const sought = trace === null ? null : await this.#of(session).trace.sought(trace, row);
      return await this.#withJournal(session, (journal) => textsOf(sought, journal));
    } finally {
      trace?.close();
    }
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
    const known = this.#known.get(id) ?? { trace: new TraceIndex(), journal: new JournalPlaces() };
    // The newest is the last.
    this.#known.delete(id);
    this.#known.set(id, known);
    const [oldest] = this.#known.keys();
    if (this.#known.size > mostKnown && oldest !== undefined) this.#known.delete(oldest);
    return known;
  }
}
