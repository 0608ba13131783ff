/** Looks up what a page asks of the sessions that are shown: a line of the trace with its texts, what a task came to, and what is found in all lines. */

import { BoundedMap } from '@svc/kit/bounded-map.ts';
import { busy } from '@svc/kit/http/refusal.ts';
import type { ShownText } from '@svc/protocol/shown-text.ts';
import type { FileChanges } from '@svc/protocol/viewed-rows.ts';
import type { StepDetail } from '@svc/protocol/viewed-session.ts';
import type { LineFile } from '@svc/record/journal/line-file.ts';
import { JournalPlaces } from './journal-places.ts';
import { type OpenJournal, resultOf, textIn, textsOf } from './row-texts.ts';
import { detailOf } from './rows/line-detail.ts';
import { TraceIndex } from './trace-index.ts';
import { changesIn, rowOfEvent, rowsWith } from './trace-lookups.ts';
import type { ViewedSession } from './viewed-session.ts';

/** Sessions whose records were looked through last. */
const maxKnown = 4;
/** Different scans of the whole records of one session that run at once. */
const maxScans = 4;

interface Known {
  readonly trace: TraceIndex;
  readonly journal: JournalPlaces;
  /** Scans that run, by what they look for. */
  readonly scans: Map<string, Promise<unknown>>;
}

export class SessionTexts {
  readonly #known = new BoundedMap<string, Known>(maxKnown);

  /** The texts of a line of the trace, by its number from 0; null for one that is not there. */
  async ofRow(session: ViewedSession, row: number): Promise<StepDetail | null> {
    const line = await withTrace(session, async (trace) => await this.#of(session).trace.line(trace, row), null);
    if (line === null) return null;
    const texts = await this.#withJournal(session, (journal) => textsOf(line.sought, journal));
    return { ...detailOf(line.text, row), ...texts };
  }

  /** The row of an event; -1 without one. Like each of the scans below, refused as `busy` while many others run in the session. */
  async find(session: ViewedSession, eventId: string): Promise<number> {
    return await this.#scan(
      session,
      `find ${eventId}`,
      async () => await withTrace(session, async (trace) => await rowOfEvent(trace, eventId), -1),
    );
  }

  async search(session: ViewedSession, words: string): Promise<readonly number[]> {
    return await this.#scan(
      session,
      `search ${words}`,
      async () => await withTrace(session, async (trace) => await rowsWith(trace, words), []),
    );
  }

  async changes(session: ViewedSession): Promise<readonly FileChanges[]> {
    return await this.#scan(session, 'changes', async () => await withTrace(session, changesIn, []));
  }

  /** What a task came to, by its id. */
  async ofTask(session: ViewedSession, task: string): Promise<ShownText> {
    return await this.#withJournal(session, (journal) => resultOf(task, journal));
  }

  /** What is being scanned for already is not scanned for once more: all who ask for it have the answer of one scan. */
  async #scan<Value>(session: ViewedSession, what: string, scan: () => Promise<Value>): Promise<Value> {
    const { scans } = this.#of(session);
    const running = scans.get(what) as Promise<Value> | undefined;
    if (running !== undefined) return await running;
    if (scans.size >= maxScans) throw busy();
    const begun = scan().finally(() => scans.delete(what));
    scans.set(what, begun);
    return await begun;
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
    const known = this.#known.get(id) ?? { trace: new TraceIndex(), journal: new JournalPlaces(), scans: new Map() };
    this.#known.set(id, known);
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
