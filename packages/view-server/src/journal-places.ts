/** Knows where in a journal the step of a place is, and what tasks were answered and came to, as far as its records can be read. */

import { yieldToLoop } from '@svc/kit/yield-to-loop.ts';
import { sha256Shape } from '@svc/kit/sha256.ts';
import type { JsonObject } from '@svc/protocol/json-object.ts';
import type { LineFile } from '@svc/record/journal/line-file.ts';
import { journalVersion } from '@svc/record/journal/records.ts';
import { parseLineObject } from '@svc/record/sessions/trace-events.ts';
import { eachLine } from './each-line.ts';
import { keptText, textIn } from './rows/checked.ts';

/** A journal may have any number of steps, tasks and answers: what comes behind so many has no texts in a page. */
const [maxSteps, maxTasks] = [500_000, 100_000];
const [maxPlace, maxId] = [1024, 128];
/** Records that lead nowhere, by how `svc` writes them: they are not parsed. */
const passed = /^\{"n":\d{1,15},"k":"(?:body|index|ask|io|look)"/;

export interface FoundStep {
  /** From 1. */
  readonly number: number;
  /** The hash of what came back; null for nothing. */
  readonly value: string | null;
}

/** What a question was answered with. */
export interface KeptAnswer {
  readonly sha256: string;
  /** Whether it settled an approval: its text is then `{decision, option, note}` as JSON. */
  readonly isDecision: boolean;
}

interface Placed {
  readonly number: number;
  readonly startByte: number;
  endByte: number | null;
}

/** One journal, which is read through once however often it is asked for and however long it grows; one that takes its place is read anew. Damaged records are passed over. */
export class JournalPlaces {
  /** By numbers that are made of their places: a place takes several times the room. */
  #steps = new Map<number, Placed>();
  #stepCount = 0;
  #results = new Map<string, string | null>();
  #answers = new Map<string, KeptAnswer[]>();
  #answerCount = 0;
  #version: number | null = null;
  #byte = 0;
  #identity: string | null = null;
  #reading: Promise<void> = Promise.resolve();

  /** Reads what has come since the last time. */
  async goOn(file: LineFile): Promise<void> {
    // One behind the other; each caller gets the errors of its own request.
    const reading = this.#reading.then(async () => await this.#read(file));
    this.#reading = reading.catch(() => {});
    await reading;
  }

  /** Whether it is of the one version that there is: a journal of another is not read. */
  get isKnown(): boolean {
    return this.#version === journalVersion;
  }

  /** Undefined where there is no such step. */
  step(file: LineFile, place: string): FoundStep | undefined {
    const found = this.#steps.get(numberOf(place));
    const start = found === undefined ? null : recordAt(file, found.startByte);
    // Two places may come to one number.
    if (found === undefined || start?.['e'] !== place) return undefined;
    const end = found.endByte === null ? null : recordAt(file, found.endByte);
    return { number: found.number, value: hashIn(end?.['value']) };
  }

  /** The id of each task that has ended, and the hash of its result. */
  results(): Iterable<readonly [task: string, sha256: string | null]> {
    return this.#results;
  }

  /** The hash of a task's result; undefined where the journal does not have it. */
  resultOf(task: string): string | null | undefined {
    return this.#results.get(task);
  }

  /** The n-th answer that a task was given, from 0. */
  answerOf(task: string, number: number): KeptAnswer | undefined {
    return this.#answers.get(task)?.[number];
  }

  async #read(file: LineFile): Promise<void> {
    const { identity } = file;
    if (identity !== this.#identity || file.size < this.#byte) {
      this.#identity = identity;
      [this.#steps, this.#results, this.#answers] = [new Map(), new Map(), new Map()];
      [this.#stepCount, this.#answerCount, this.#version, this.#byte] = [0, 0, null, 0];
    }
    for (const read of readRecords(file, this.#byte)) {
      if (read === null) {
        await yieldToLoop();
        continue;
      }
      if (read.record !== null) this.#take(read.record, read.byte);
      this.#byte = read.next;
    }
  }

  #take(record: JsonObject, byte: number): void {
    const { k: kind, version, e, id } = record;
    if (kind === 'open') this.#version ??= typeof version === 'number' ? version : -1;
    if (!this.isKnown) return;
    if (kind === 'start') this.#start(numberOf(textIn(e, maxPlace)), byte);
    else if (kind === 'end') {
      const step = this.#steps.get(numberOf(textIn(e, maxPlace)));
      if (step !== undefined) step.endByte = byte;
    } else if (kind === 'task-end' && this.#results.size < maxTasks)
      this.#results.set(textIn(id, maxId), hashIn(record['result']));
    else if (kind === 'in') this.#arrived(record);
  }

  #start(place: number, startByte: number): void {
    this.#stepCount += 1;
    if (this.#steps.size < maxSteps && !this.#steps.has(place))
      this.#steps.set(place, { number: this.#stepCount, startByte, endByte: null });
  }

  #arrived({ what, task, text }: JsonObject): void {
    const sha256 = hashIn(text);
    if ((what !== 'answer' && what !== 'decision') || sha256 === null) return;
    if (typeof task !== 'string' || this.#answerCount >= maxTasks) return;
    const id = keptText(task, maxId);
    const known = this.#answers.get(id);
    const answer = { sha256, isDecision: what === 'decision' };
    this.#answerCount += 1;
    if (known === undefined) this.#answers.set(id, [answer]);
    else known.push(answer);
  }
}

interface ReadRecord {
  /** It is null for a dangling reference or an invalid line. */
  readonly record: JsonObject | null;
  readonly byte: number;
  /** Where the line behind it begins. */
  readonly next: number;
}

/** Returns null where others should have their turn. */
function* readRecords(file: LineFile, from: number): Generator<ReadRecord | null> {
  for (const each of eachLine(file, from)) {
    if (each === null) {
      yield null;
      continue;
    }
    const { line, isWhole, byte, next } = each;
    const isPassed = !isWhole || passed.test(line.toString('latin1', 0, 40));
    yield { record: isPassed ? null : parseLineObject(line.toString('utf8')), byte, next };
  }
}

function recordAt(file: LineFile, byte: number): JsonObject | null {
  const line = file.lineAt(byte);
  return line === null ? null : parseLineObject(line.toString('utf8'));
}

/** 53 bits: of a million places hardly two have the same. */
function numberOf(place: string): number {
  let [high, low] = [0x811c9dc5, 0x1b873593];
  for (let at = 0; at < place.length; at += 1) {
    const code = place.charCodeAt(at);
    high = Math.imul(high ^ code, 0x01000193);
    low = Math.imul(low ^ code, 0x85ebca6b) + high;
  }
  return (high >>> 0) * 2 ** 21 + (low >>> 11);
}

function hashIn(value: unknown): string | null {
  return typeof value === 'string' && sha256Shape.test(value) ? value : null;
}
