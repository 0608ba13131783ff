/** Reads one of two sessions that are compared, step by step. */

import type { SkimmedRecord } from './journal-skim.ts';
import { type MessageList, type MessageLists, RequestChain } from './request-chain.ts';
import type { SkimmedStart } from './skimmed-record.ts';

/** The records of a journal from its beginning, each time it is called. */
export type Skim = () => Iterable<SkimmedRecord>;

/** Where something stands in a session, whatever the ids of its tasks are. */
interface Place {
  /** The number of its task, from 0; -1 of a step of the session itself. */
  readonly task: number;
  /** What follows the id of the task, or all of it without one. */
  readonly within: string;
}

/** A question to the model, and what came back. */
export interface Asked {
  readonly step: number;
  /** Which of the answers of its session it got, from 0; null while it has none. */
  order: number | null;
  /** The hash of the outcome; null without one. */
  value: string | null;
  /** The same question of the other session. */
  other: Asked | null;
}

/** One step, as far as it is compared. */
export interface ComparedStep extends Place {
  readonly step: number;
  readonly start: SkimmedStart;
  /** Is null for a step that asks no model. */
  readonly asked: Asked | null;
  readonly of: ComparedSession;
}

/** The same for steps of two sessions that stand at the same place. */
export function keyOf({ task, within }: Place): string {
  return task < 0 ? within : task + within;
}

export function isSamePlace(a: Place | null, b: Place | null): boolean {
  return a === b || (a !== null && b !== null && a.task === b.task && a.within === b.within);
}

/** One of the two sessions, as far as it was read. */
export class ComparedSession {
  readonly #skim: Skim;
  readonly #records: Iterator<SkimmedRecord>;
  readonly #lists: MessageLists;
  readonly #onAnswered: (asked: Asked) => void;
  readonly #numbers = new Map<string, number>();
  /** The task that was looked for last: nearly always the next one is the same. */
  #known = { id: '', task: -1 };
  /** For all requests, by their steps; null until one is asked for. */
  #messages: ReadonlyMap<number, MessageList | null> | null = null;
  #steps = 0;
  #answered = 0;
  /** Questions to the model that are not answered yet, by their places. */
  readonly #asked = new Map<string, Asked>();
  /** Hashes of the texts of tasks. */
  readonly tasks: string[] = [];
  /** What became of each. */
  readonly ends = new Map<number, string>();
  /** Steps that have not met the one of the other session, by keys, in their order. */
  readonly waiting = new Map<string, ComparedStep>();

  /** `onAnswered` receives each question to the model that has its answer. */
  constructor(skim: Skim, lists: MessageLists, onAnswered: (asked: Asked) => void) {
    this.#skim = skim;
    this.#lists = lists;
    this.#onAnswered = onAnswered;
    this.#records = skim()[Symbol.iterator]();
  }

  /** Returns null at the end. */
  nextStep(): ComparedStep | null {
    for (let next = this.#records.next(); next.done !== true; next = this.#records.next()) {
      const record = next.value;
      if (record.k === 'start') return this.#begin(record);
      if (record.k === 'task') {
        this.#numbers.set(record.id, this.tasks.length);
        this.#known = { id: record.id, task: this.tasks.length };
        this.tasks.push(record.text);
      } else if (record.k === 'task-end') {
        this.ends.set(this.#numbers.get(record.id) ?? -1, record.state);
      } else {
        const asked = this.#asked.get(record.e);
        if (asked === undefined) continue;
        this.#asked.delete(record.e);
        asked.value = record.value;
        asked.order = this.#answered;
        this.#answered += 1;
        this.#onAnswered(asked);
      }
    }
    return null;
  }

  /** All messages of the request of a step. The session is read once more for the first that is asked for. */
  messagesOf(step: number): MessageList | null {
    this.#messages ??= this.#allMessages();
    return this.#messages.get(step) ?? null;
  }

  /** How many messages the request of a step has. The session is read once more up to it. */
  lengthOf(step: number): number {
    const lengths = new Map<string, number>();
    let count = 0;
    for (const record of this.#skim()) {
      if (record.k !== 'start') continue;
      count += 1;
      const { base, added } = record;
      const length = ((base === null ? null : lengths.get(base)) ?? 0) + added;
      if (count === step) return length;
      if (record.isModel) lengths.set(record.e, length);
    }
    return 0;
  }

  /** The place of the request that a step extends; null without one. */
  baseOf({ base }: SkimmedStart): Place | null {
    return base === null ? null : this.#placeOf(base);
  }

  /** The first step before `step` that waits; null without one. */
  firstWaiting(step: number): ComparedStep | null {
    const [first] = this.waiting.values();
    return first !== undefined && first.step < step ? first : null;
  }

  #allMessages(): ReadonlyMap<number, MessageList | null> {
    const chain = new RequestChain(this.#lists);
    const all = new Map<number, MessageList | null>();
    let count = 0;
    for (const record of this.#skim()) {
      if (record.k !== 'start') continue;
      count += 1;
      if (record.isModel) all.set(count, chain.begin(count, record).messages);
    }
    return all;
  }

  #begin(start: SkimmedStart): ComparedStep {
    this.#steps += 1;
    const { task, within } = this.#placeOf(start.e);
    const asked = start.isModel ? { step: this.#steps, order: null, value: null, other: null } : null;
    if (asked !== null) this.#asked.set(start.e, asked);
    return { step: this.#steps, task, within, start, asked, of: this };
  }

  #placeOf(e: string): Place {
    const { id } = this.#known;
    if (!(id !== '' && e.startsWith(id) && e.startsWith('/', id.length))) {
      const other = e.slice(0, e.indexOf('/'));
      const task = this.#numbers.get(other);
      if (task === undefined) return { task: -1, within: e };
      this.#known = { id: other, task };
    }
    return { task: this.#known.task, within: e.slice(this.#known.id.length) };
  }
}
