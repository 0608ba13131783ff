/** Reads the records of a journal, and keeps where which text is: the texts themselves are asked for when they are shown. */

import type { JsonObject } from '@svc/protocol/json-object.ts';
import type { JournalStep } from '../messages.ts';
import { countOrNull, parseLine, textIn, textOrNull } from '../trace/checked.ts';

/** The one version of the format that this page reads. */
const knownVersion = 1;
const longestPlace = 1024;
const hash = /^[0-9a-f]{64}$/;

interface Step {
  readonly number: number;
  readonly port: string;
  readonly name: string;
  ms: number | null;
  /** The hash of what came back; null for nothing. */
  value: string | null;
  hasEnded: boolean;
  hasFailed: boolean;
}

/** What of a journal leads from a place to its texts. Records that are damaged are passed over. */
export class JournalIndex {
  readonly #steps = new Map<string, Step>();
  /** Numbers of tasks by their ids, in the order in which they came. */
  readonly #tasks = new Map<string, number>();
  readonly #results = new Map<string, string | null>();
  readonly #answers = new Map<string, string[]>();
  /** Null until the first record. */
  version: number | null = null;

  get stepCount(): number {
    return this.#steps.size;
  }

  /** Nothing of a journal of another version is believed. */
  get isKnown(): boolean {
    return this.version === knownVersion;
  }

  take(lines: readonly string[]): void {
    for (const line of lines) {
      const record = parseLine(line);
      if (record === null) continue;
      if (record['k'] === 'open') this.#open(record);
      else if (this.isKnown) this.#record(record);
    }
  }

  /** What the step at a place was answered; undefined where there is no such step. */
  step(place: string): Readonly<Step> | undefined {
    return this.#steps.get(place);
  }

  /** The hash of what a task came to; undefined where the journal does not say it. */
  resultOf(taskId: string): string | null | undefined {
    return this.#results.get(taskId);
  }

  /** Hashes of the answers that a task was given, in their order. */
  answersOf(taskId: string): readonly string[] {
    return this.#answers.get(taskId) ?? [];
  }

  steps(): readonly JournalStep[] {
    return [...this.#steps].map(([place, { number, port, name, ms, hasFailed }]) => {
      const turn = /\/m(\d{1,9})(?:\/|$)/.exec(place)?.[1];
      return {
        number,
        key: this.#keyOf(place),
        port,
        name,
        turn: turn === undefined ? null : Number(turn),
        ms,
        hasFailed,
      };
    });
  }

  /** A place with the number of its task for its id, which is another in each session. */
  #keyOf(place: string): string {
    const end = place.indexOf('/');
    const task = this.#tasks.get(place.slice(0, end));
    return task === undefined ? place : `${task}${place.slice(end)}`;
  }

  #open(record: JsonObject): void {
    this.version ??= typeof record['version'] === 'number' ? record['version'] : -1;
  }

  #record(record: JsonObject): void {
    const place = textIn(record['e'], longestPlace);
    switch (record['k']) {
      case 'task':
        this.#tasks.set(textIn(record['id'], 128), this.#tasks.size);
        return;
      case 'task-end':
        this.#results.set(textIn(record['id'], 128), hashIn(record['result']));
        return;
      case 'start':
        this.#steps.set(this.#steps.has(place) ? `${place}#${this.#steps.size}` : place, {
          number: this.#steps.size + 1,
          port: textIn(record['port'], 20),
          name: textIn(record['name'], 100),
          ms: null,
          value: null,
          hasEnded: false,
          hasFailed: false,
        });
        return;
      case 'end':
        this.#end(place, record);
        return;
      case 'in':
        this.#arrived(record);
    }
  }

  #end(place: string, record: JsonObject): void {
    const step = this.#steps.get(place);
    if (step === undefined) return;
    step.ms = countOrNull(record['ms']);
    step.value = hashIn(record['value']);
    step.hasEnded = true;
    step.hasFailed = record['error'] === true;
  }

  #arrived(record: JsonObject): void {
    const text = hashIn(record['text']);
    const task = textOrNull(record['task'], 128);
    if (record['what'] !== 'answer' || text === null || task === null) return;
    const known = this.#answers.get(task);
    if (known === undefined) this.#answers.set(task, [text]);
    else known.push(text);
  }
}

function hashIn(value: unknown): string | null {
  return typeof value === 'string' && hash.test(value) ? value : null;
}
