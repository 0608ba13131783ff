/** Finds the first point where two sessions part. */

import type { SkimmedRecord } from './journal-skim.ts';
import {
  commonLength,
  commonMessages,
  messageAt,
  type MessageList,
  MessageLists,
  RequestChain,
} from './request-chain.ts';
import type { SkimmedStart } from './skimmed-record.ts';

/** Where two sessions part: steps by their numbers in `a` and in `b`, texts by their hashes. */
export type Parting =
  /** The `index`-th task, from 0, was given another text, or there is none in one of them. */
  | { readonly kind: 'task'; readonly index: number; readonly a: string | null; readonly b: string | null }
  /** A step of one has none at its place in the other. */
  | { readonly kind: 'missing'; readonly in: 'a' | 'b'; readonly step: number }
  /** A step at the same place has another name or port, or another input. */
  | { readonly kind: 'input'; readonly a: number; readonly b: number }
  | RequestParting
  /** All requests are the same, and the answer to one is not. */
  | {
      readonly kind: 'answer';
      readonly a: number;
      readonly b: number;
      readonly values: readonly [string | null, string | null];
    }
  /** A task came to another end. */
  | { readonly kind: 'end'; readonly index: number; readonly a: string | null; readonly b: string | null };

/** Two requests at the same place that are not the same. */
export interface RequestParting {
  readonly kind: 'request';
  readonly a: number;
  readonly b: number;
  /** Model, system prompt, tools and limit of tokens. */
  readonly isFixedSame: boolean;
  /** How many messages are the same, from the first on. */
  readonly same: number;
  /** How many there are. */
  readonly lengths: readonly [number, number];
  /** The first that are not the same; null where there is none more. */
  readonly messages: readonly [string | null, string | null];
}

/** The records of a journal from its beginning, each time it is called. */
export type Skim = () => Iterable<SkimmedRecord>;

/**
 * The first point where session `b` is not as session `a`, in the order of `a`; null when there is none. Steps are compared with those at the
 * same place, tasks being counted, so ids and what ran at the same time do not matter. Hashes alone are compared: no text is read, and no
 * further than to the point itself.
 */
export function partingOf(a: Skim, b: Skim): Parting | null {
  const lists = new MessageLists();
  const [first, second] = [new Side(a, lists), new Side(b, lists)];
  let found: Met | null = null;
  for (let isOver = false; !isOver;) {
    const [nextA, nextB] = [first.nextStep(), second.nextStep()];
    isOver = nextA === null && nextB === null;
    // Behind a point that was found, only what may lie before it is of interest.
    if (nextA !== null && found === null) first.waiting.set(nextA.key, nextA);
    if (nextB !== null) second.waiting.set(nextB.key, nextB);
    for (const key of new Set([nextA?.key, nextB?.key])) {
      const met = key === undefined ? null : meet(first, second, key);
      if (met !== null && !isSame(met) && met.a.step < (found?.a.step ?? Infinity)) found = met;
    }
    if (found !== null) {
      // Those of `b` that were read ahead have no other use than to be met.
      if (first.firstWaiting(found.a.step) === null) return partedTask(first, second, found.a.task) ?? partedAt(found);
    }
  }
  const [onlyA, onlyB] = [first.firstWaiting(found?.a.step ?? Infinity), second.firstWaiting(Infinity)];
  const task = partedTask(first, second, onlyA?.task ?? Infinity);
  if (task !== null) return task;
  if (onlyA !== null) return { kind: 'missing', in: 'b', step: onlyA.step };
  if (found !== null) return partedAt(found);
  if (onlyB !== null) return { kind: 'missing', in: 'a', step: onlyB.step };
  return partedAnswer(first, second) ?? partedEnd(first, second);
}

/** One step, as far as it is compared. */
interface ComparedStep {
  readonly step: number;
  /** Its place, with the number of its task in place of the id. */
  readonly key: string;
  /** The number of its task, from 0; -1 of a step of the session itself. */
  readonly task: number;
  readonly start: SkimmedStart;
  /** Null for a step that asks no model. */
  readonly request: ComparedRequest | null;
  readonly side: Side;
}

interface ComparedRequest {
  readonly fixed: string;
  /** The place of the request that it extends, spelled as `key`; null for none. */
  readonly base: string | null;
  readonly baseLength: number;
  /** How many messages it has. */
  readonly length: number;
  /** What it adds, as it stands in the line. */
  readonly list: string;
}

/** A question to the model, and the hash of what came back. */
interface Asked {
  readonly key: string;
  readonly step: number;
  value: string | null;
}

/** Steps at the same place. */
interface Met {
  readonly a: ComparedStep;
  readonly b: ComparedStep;
}

/** One of the two sessions, as far as it was read. */
class Side {
  readonly skim: Skim;
  readonly #records: Iterator<SkimmedRecord>;
  readonly #lists: MessageLists;
  readonly #numbers = new Map<string, number>();
  /** Of all requests, by their steps; null until one is asked for. */
  #messages: ReadonlyMap<number, MessageList | null> | null = null;
  #steps = 0;
  /** Numbers of messages of requests, by their keys. */
  readonly #lengths = new Map<string, number>();
  /** Questions to the model that are not answered yet, by their places. */
  readonly #asked = new Map<string, Asked>();
  /** Hashes of the texts of tasks. */
  readonly tasks: string[] = [];
  /** What became of each. */
  readonly ends = new Map<number, string>();
  /** All questions to the model that have been answered. */
  readonly answers: Asked[] = [];
  /** Steps that have not met the one of the other session, by keys, in their order. */
  readonly waiting = new Map<string, ComparedStep>();

  constructor(skim: Skim, lists: MessageLists) {
    this.skim = skim;
    this.#lists = lists;
    this.#records = skim()[Symbol.iterator]();
  }

  /** Null at the end. */
  nextStep(): ComparedStep | null {
    for (let next = this.#records.next(); next.done !== true; next = this.#records.next()) {
      const record = next.value;
      if (record.k === 'start') return this.#begin(record);
      if (record.k === 'task') {
        this.#numbers.set(record.id, this.tasks.length);
        this.tasks.push(record.text);
      } else if (record.k === 'task-end') {
        this.ends.set(this.#numbers.get(record.id) ?? -1, record.state);
      } else {
        const asked = this.#asked.get(record.e);
        if (asked === undefined) continue;
        this.#asked.delete(record.e);
        asked.value = record.value;
        this.answers.push(asked);
      }
    }
    return null;
  }

  /** All messages of the request of a step. The session is read once more for the first that is asked for. */
  messagesOf(step: number): MessageList | null {
    this.#messages ??= this.#allMessages();
    return this.#messages.get(step) ?? null;
  }

  #allMessages(): ReadonlyMap<number, MessageList | null> {
    const chain = new RequestChain(this.#lists);
    const all = new Map<number, MessageList | null>();
    let count = 0;
    for (const record of this.skim()) {
      if (record.k !== 'start') continue;
      count += 1;
      if (record.isModel) all.set(count, chain.begin(count, record).messages);
    }
    return all;
  }

  /** The first step before `step` that waits; null for none. */
  firstWaiting(step: number): ComparedStep | null {
    const [first] = this.waiting.values();
    return first !== undefined && first.step < step ? first : null;
  }

  #begin(start: SkimmedStart): ComparedStep {
    this.#steps += 1;
    const { task, key } = this.#keyOf(start.e);
    const known = { step: this.#steps, key, task, start, side: this };
    if (!start.isModel) return { ...known, request: null };
    const { base: place, fixed, list } = start;
    const base = place === null ? null : this.#keyOf(place).key;
    const baseLength = base === null ? 0 : (this.#lengths.get(base) ?? 0);
    const length = baseLength + start.added;
    this.#lengths.set(key, length);
    this.#asked.set(start.e, { key, step: this.#steps, value: null });
    return { ...known, request: { fixed, base, baseLength, length, list } };
  }

  #keyOf(place: string): { readonly task: number; readonly key: string } {
    const slash = place.indexOf('/');
    const task = this.#numbers.get(place.slice(0, slash)) ?? -1;
    return { task, key: task < 0 ? place : task + place.slice(slash) };
  }
}

/** Takes the two steps of a key out of what waits; null while one of them has not come. */
function meet(first: Side, second: Side, key: string): Met | null {
  const [a, b] = [first.waiting.get(key), second.waiting.get(key)];
  if (a === undefined || b === undefined) return null;
  first.waiting.delete(key);
  second.waiting.delete(key);
  return { a, b };
}

function isSame({ a, b }: Met): boolean {
  const [first, second] = [a.request, b.request];
  if (first === null || second === null) return first === second && a.start.rest === b.start.rest;
  if (first.fixed !== second.fixed) return false;
  if (first.base === second.base) return first.list === second.list;
  // The same messages may have been put together in another way.
  return partedRequest({ a, b }) === null;
}

function partedAt(met: Met): Parting | null {
  if (met.a.request === null || met.b.request === null) return { kind: 'input', a: met.a.step, b: met.b.step };
  return partedRequest(met);
}

function partedRequest({ a, b }: Met): RequestParting | null {
  const isFixedSame = a.start.fixed === b.start.fixed;
  const lengths = [a.request?.length ?? 0, b.request?.length ?? 0] as const;
  const known = { kind: 'request', a: a.step, b: b.step, isFixedSame, lengths } as const;
  const extendsSame = a.request?.base === b.request?.base;
  if (!extendsSame) {
    const [wholeA, wholeB] = [a.side.messagesOf(a.step), b.side.messagesOf(b.step)];
    const same = commonMessages(wholeA, wholeB);
    if (isFixedSame && same === (wholeA?.length ?? 0) && same === (wholeB?.length ?? 0)) return null;
    return { ...known, same, messages: [messageAt(wholeA, same), messageAt(wholeB, same)] };
  }
  // What both extend was compared when it came.
  const [addA, addB] = [a.start.add, b.start.add];
  const same = commonLength(addA, addB);
  if (isFixedSame && same === addA.length && same === addB.length) return null;
  const before = a.request?.baseLength ?? 0;
  return { ...known, same: before + same, messages: [addA[same] ?? null, addB[same] ?? null] };
}

/** The first task up to `last` whose texts differ. */
function partedTask(first: Side, second: Side, last: number): Parting | null {
  const most = Math.min(last + 1, Math.max(first.tasks.length, second.tasks.length));
  for (let index = 0; index < most; index += 1) {
    const [a = null, b = null] = [first.tasks[index], second.tasks[index]];
    if (a !== b) return { kind: 'task', index, a, b };
  }
  return null;
}

function partedAnswer(first: Side, second: Side): Parting | null {
  const others = new Map(second.answers.map((each) => [each.key, each]));
  for (const a of first.answers) {
    const b = others.get(a.key);
    if (b === undefined || a.value === b.value) continue;
    return { kind: 'answer', a: a.step, b: b.step, values: [a.value, b.value] };
  }
  return null;
}

function partedEnd(first: Side, second: Side): Parting | null {
  for (let index = 0; index < first.tasks.length; index += 1) {
    const [a = null, b = null] = [first.ends.get(index), second.ends.get(index)];
    if (a !== b) return { kind: 'end', index, a, b };
  }
  return null;
}
