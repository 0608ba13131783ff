/** One session as the page knows it: what its worker has sent so far, and what the page may ask it. */

import { isModel } from '@svc/protocol/row-kinds.ts';
import type { LiveNow, ViewedFacts } from '@svc/protocol/viewed-session.ts';
import type { Block, Child, EndedTask, NewTask, SessionStart } from '@svc/protocol/viewed-rows.ts';
import type { FromWorker, Place, Questions, ToWorker } from '../messages.ts';
import { now } from '../text/page-clock.ts';
import { wentWrong } from '../trace/kinds.ts';
import { Cell } from './cell.ts';
import { Columns } from './columns.ts';
import { tellsAgain } from './told-again.ts';

export interface Task extends NewTask, Partial<Omit<EndedTask, 'index'>> {}

export interface Sums {
  readonly input: number;
  readonly output: number;
  readonly modelCalls: number;
  /** Rows that went wrong, each thing once. */
  readonly failed: number;
}

/** As much of a Worker as is used here. */
export interface WorkerPort {
  onmessage: ((event: MessageEvent<FromWorker>) => void) | null;
  postMessage(message: ToWorker): void;
  terminate(): void;
}

interface Waiting {
  readonly resolve: (value: never) => void;
  readonly reject: (error: Error) => void;
}

/** The owner closes it. */
export class Session {
  readonly columns: Columns = new Columns();
  /** Rows that have come; all else of the columns is read behind it. */
  readonly count: Cell<number> = new Cell(0);
  readonly start: Cell<SessionStart | null> = new Cell(null);
  readonly tasks: Cell<readonly Task[]> = new Cell([]);
  readonly children: Cell<readonly Child[]> = new Cell([]);
  readonly hasEvidence: Cell<boolean> = new Cell(false);
  readonly sums: Cell<Sums> = new Cell({ input: 0, output: 0, modelCalls: 0, failed: 0 });
  /** Tokens of each task so far; changes with `sums`. */
  readonly tokensOf: number[] = [];
  /** Another value each time that the trace is read to its end; null until then. */
  readonly whole: Cell<{ readonly kind: 'whole' } | null> = new Cell(null);
  /** Known once it is known what there is beside the trace. */
  readonly hasJournal: Cell<boolean> = new Cell(false);
  /** What the capsule does, and when that was reported; null if nothing reports it. */
  readonly live: Cell<(LiveNow & { readonly at: number }) | null> = new Cell(null);
  /** Why reading has ended early; '' while it has not. */
  readonly lost: Cell<string> = new Cell('');
  readonly #worker: WorkerPort;
  readonly #isAgain = tellsAgain(this.columns);
  readonly #waiting = new Map<number, Waiting>();
  #asked = 0;

  constructor(worker: WorkerPort, place: Place) {
    this.#worker = worker;
    worker.onmessage = ({ data }): void => this.#take(data);
    worker.postMessage({ kind: 'open', place });
  }

  /** Takes what the server says of the session: whether it has a journal, and whether it runs and is to be followed. */
  learn({ has, live }: ViewedFacts): void {
    this.hasJournal.value = has.journal;
    if (live) this.#worker.postMessage({ kind: 'live' });
  }

  /** Rejects where the session was closed meanwhile, and for what cannot be read. */
  async ask<What extends keyof Questions>(
    what: What,
    about: Questions[What]['about'],
  ): Promise<Questions[What]['answer']> {
    this.#asked += 1;
    const id = this.#asked;
    // What a capsule writes as an id may be no whole text, and make no path.
    const path = about === null ? what : `${what}/${encodeURIComponent(`${about}`.toWellFormed())}`;
    return await new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      this.#worker.postMessage({ kind: 'ask', id, path });
    });
  }

  /** Why nothing is there to show: `none` once the whole trace is read. */
  whyEmpty(none: string): string {
    return this.lost.value || (this.whole.value === null ? 'Reading the trace…' : none);
  }

  close(): void {
    this.#worker.terminate();
    for (const { reject } of this.#waiting.values()) reject(new Error('the session was closed'));
    this.#waiting.clear();
  }

  #take(message: FromWorker): void {
    switch (message.kind) {
      case 'rows':
        this.#rows(message.block);
        return;
      case 'whole':
        this.whole.value = message;
        return;
      case 'live':
        this.live.value = message.now === null ? null : { ...message.now, at: now() };
        return;
      case 'lost':
        this.lost.value = message.why;
        return;
      case 'answer':
      case 'fault': {
        const waiting = this.#waiting.get(message.id);
        this.#waiting.delete(message.id);
        if (message.kind === 'answer') waiting?.resolve(message.value as never);
        else waiting?.reject(new Error(message.message));
      }
    }
  }

  #rows({ rows, tasks, ends, children, start, hasEvidence }: Block): void {
    this.columns.put(rows);
    if (start !== null) this.start.value = start;
    if (hasEvidence) this.hasEvidence.value = true;
    if (tasks.length > 0 || ends.length > 0) {
      const all = [...this.tasks.value, ...tasks];
      for (const { index, ...end } of ends) {
        const task = all[index];
        if (task !== undefined) all[index] = { ...task, ...end };
      }
      this.tasks.value = all;
    }
    if (children.length > 0) this.children.value = withChildren(this.children.value, children);
    this.#sum(rows);
    this.count.value = rows.first + rows.kind.length;
  }

  #sum({ first, kind, flags, input, output, task }: Block['rows']): void {
    let { input: inputs, output: outputs, modelCalls, failed } = this.sums.value;
    for (let index = 0; index < kind.length; index += 1) {
      if (!this.#isAgain(first + index) && ((flags[index] ?? 0) & wentWrong) !== 0) failed += 1;
      if (!isModel(kind[index] ?? 255)) continue;
      modelCalls += 1;
      const [asked, given, of] = [input[index] ?? 0, output[index] ?? 0, task[index] ?? -1];
      inputs += asked;
      outputs += given;
      if (of !== -1) this.tokensOf[of] = (this.tokensOf[of] ?? 0) + asked + given;
    }
    this.sums.value = { input: inputs, output: outputs, modelCalls, failed };
  }
}

/** A child that has ended takes the place of the one that was started. */
function withChildren(known: readonly Child[], fresh: readonly Child[]): readonly Child[] {
  const all = new Map(known.map((child) => [child.delegationId, child]));
  for (const child of fresh) {
    const before = all.get(child.delegationId);
    all.set(
      child.delegationId,
      before === undefined ? child : { ...child, row: before.row, sessionId: child.sessionId ?? before.sessionId },
    );
  }
  return [...all.values()];
}
