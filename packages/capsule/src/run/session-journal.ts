/** Records a session in its journal, from the first thing that goes through its recorder. */

import type { CaptureLevel } from '@svc/artifacts/manifest/capture-levels.ts';
import type { Clock } from '@svc/kit/clock.ts';
import { Diagnostic, diagnosticOf } from '@svc/kit/diagnostics/diagnostic.ts';
import { yieldToLoop, type Steps } from '@svc/kit/yield-to-loop.ts';
import type { Capture } from '@svc/record/journal/journal-writer.ts';
import { type HistoryEvent, type Recorder, passThrough, LiveRecorder } from '@svc/session/recorder/recorder.ts';
import type { SessionStatus } from '@svc/session/session.ts';
import type { SessionActivity } from '@svc/session/task/activity.ts';
import type { Task } from '@svc/session/task/task.ts';
import type { JournalKeeper, KeeperRequest, RetentionOfSession, SettledTask } from './journal-keeper.ts';

/** Where the journal of a session comes from. */
export interface SessionJournal {
  readonly recorder: Recorder;
  /** Takes note of what becomes of tasks. */
  follow(activity: SessionActivity): void;
  /**
   * Opens the journal and writes what went through so far; what comes meanwhile waits in memory. Called once the listener is up: hashing loads
   * what a start has no use for. `onLost` is given the Diagnostic of a journal that was asked for and cannot be written, once; of another there is a
   * warning. A little later, journals of earlier sessions that are beyond `trace.keep` are removed.
   */
  begin(request: BeginRequest, onLost: (lost: Diagnostic) => void): void;
  /** Resolves once everything so far is written: a long text is written in several turns of the event loop. */
  caughtUp(): Promise<void>;
  /** Writes the last record and closes the file, once nothing more is removed. */
  end(outcome: { readonly status: SessionStatus; readonly reason: string | null } | null): Promise<void>;
}

/** What a journal begins with. */
export type BeginRequest = Omit<KeeperRequest, 'capture'> & RetentionOfSession;

/** The journal of a session at this level; a session that is not recorded has one that does nothing. */
export function openSessionJournal(capture: CaptureLevel, clock: Clock): SessionJournal {
  if (capture === 'none')
    return {
      recorder: passThrough(clock),
      follow: () => {},
      begin: () => {},
      caughtUp: async () => {},
      end: async () => {},
    };
  return new RecordedSession(capture, clock);
}

/** Writes something into the journal once it is open, and once all before it is written. */
type Entry = (keeper: JournalKeeper) => Steps<void>;

class RecordedSession implements SessionJournal {
  readonly recorder: Recorder;
  /** What went through before the journal was open, or behind a long text; null once nothing is recorded any more. */
  #waiting: Entry[] | null = [];
  #keeper: JournalKeeper | null = null;
  #opening: Promise<void> | null = null;
  #isWriting = false;
  /** Lasts while long texts are written in turns of their own. */
  #writing: Promise<void> = Promise.resolve();
  #onLost: (lost: Diagnostic) => void = () => {};
  #finishRetention: () => Promise<void> = async () => {};
  readonly #capture: Capture;
  readonly #now: () => number;

  constructor(capture: Capture, clock: Clock) {
    this.#capture = capture;
    const record = (historyEvent: HistoryEvent): void => {
      const at = clock.now();
      this.#take((keeper) => keeper.write(historyEvent, at));
    };
    this.recorder = new LiveRecorder(record, clock);
    this.#now = () => clock.now();
  }

  follow(activity: SessionActivity): void {
    activity.subscribe((told) => {
      if (told.kind !== 'task-settled') return;
      const end = endOf(told.task);
      const at = this.#now();
      this.#take((keeper) => keeper.settled(end, at));
    });
  }

  begin(request: BeginRequest, onLost: (lost: Diagnostic) => void): void {
    this.#onLost = onLost;
    this.#opening = this.#open(request);
  }

  async caughtUp(): Promise<void> {
    while (this.#isWriting) await this.#writing;
  }

  async end(outcome: Parameters<SessionJournal['end']>[0]): Promise<void> {
    await this.#opening;
    await this.#finishRetention();
    await this.caughtUp();
    const keeper = this.#keeper;
    this.#keeper = null;
    this.#waiting = null;
    this.#orLost(() => keeper?.close(outcome));
  }

  async #open(request: BeginRequest): Promise<void> {
    const { JournalKeeper, retainLater, withoutJournal } = await import('./journal-keeper.ts');
    if (!request.launch.isCaptureAsked) this.#onLost = (lost) => request.onWarning(withoutJournal(lost));
    this.#finishRetention = retainLater(request);
    this.#orLost(() => {
      this.#keeper = new JournalKeeper({ ...request, capture: this.#capture });
    });
    this.#writeWaiting();
  }

  #take(entry: Entry): void {
    this.#waiting?.push(entry);
    this.#writeWaiting();
  }

  #writeWaiting(): void {
    if (this.#keeper === null || this.#isWriting) return;
    this.#isWriting = true;
    this.#writing = this.#writeInTurns();
  }

  /** Has written what takes no turn of its own when it returns. */
  async #writeInTurns(): Promise<void> {
    try {
      for (const steps of this.#waitingSteps()) while (steps.next().done !== true) await yieldToLoop();
    } catch (error) {
      if (!(error instanceof Diagnostic)) throw error;
      this.#lose(error);
    } finally {
      this.#isWriting = false;
    }
  }

  *#waitingSteps(): Generator<Steps<void>> {
    for (;;) {
      const entry = this.#waiting?.shift();
      if (entry === undefined || this.#keeper === null) return;
      yield entry(this.#keeper);
    }
  }

  /** Gives up a journal that lacks something: what comes later is dropped. */
  #orLost(write: () => void): void {
    try {
      write();
    } catch (error) {
      if (!(error instanceof Diagnostic)) throw error;
      this.#lose(error);
    }
  }

  #lose(lost: Diagnostic): void {
    const keeper = this.#keeper;
    this.#keeper = null;
    diagnosticOf(() => keeper?.close(null));
    if (this.#waiting === null) return;
    this.#waiting = null;
    this.#onLost(lost);
  }
}

/** The end of a task as a journal has it: the fields of the task change once it is forgotten. */
export function endOf({ id, state, attempts, turns, result, failure, statusMessage }: Task): SettledTask {
  if (state !== 'completed' && state !== 'failed' && state !== 'canceled')
    throw new Error(`a task that is ${state} is settled`);
  return { id, state, attempts, turns, result, message: failure ?? statusMessage ?? '' };
}
