/** Finds the first point where two sessions differ. */

import { runSync, type Steps } from '@svc/kit/yield-to-loop.ts';
import { type Asked, ComparedSession, type ComparedStep, isSamePlace, keyOf, type Skim } from './compared-session.ts';
import { commonLength, commonMessages, messageAt, MessageLists } from './request-chain.ts';

/** Where two sessions differ: steps by their numbers in `a` and in `b`, texts by their hashes. */
export type Divergence =
  /** The `index`-th task, from 0, has another text, or one of them lacks it. */
  | { readonly kind: 'task'; readonly index: number; readonly a: string | null; readonly b: string | null }
  /** A step of one has none at its place in the other. */
  | { readonly kind: 'missing'; readonly in: 'a' | 'b'; readonly step: number }
  /** A step at the same place has another name or port, or another input. */
  | { readonly kind: 'input'; readonly a: number; readonly b: number }
  | RequestDivergence
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
export interface RequestDivergence {
  readonly kind: 'request';
  readonly a: number;
  readonly b: number;
  /** Model, system prompt, tools and limit of tokens. */
  readonly isFixedSame: boolean;
  /** How many messages are the same, from the first on. */
  readonly same: number;
  /** How many there are. */
  readonly lengths: readonly [number, number];
  /** The first that are not the same; null past the last. */
  readonly messages: readonly [string | null, string | null];
}

/** Whether two steps of hooks, whose inputs have other hashes, got the same input except ids. */
export type ToldAlike = (a: number, b: number) => boolean;

/**
 * The first point where session `b` is not as session `a`, in the order of `a`; null if they agree. Steps are compared with those at the
 * same place, tasks being counted, so ids and what ran at the same time do not matter. Hashes alone are compared, and no further than to the
 * point itself; a hook receives ids, so `toldAlike` is asked of each step of one.
 */
export function divergenceOf(a: Skim, b: Skim, toldAlike: ToldAlike): Divergence | null {
  return runSync(divergenceSteps(a, b, toldAlike));
}

/** Steps of the sessions between two turns of its caller. */
const stepsEach = 200;

/** The same, a part at a time. */
export function* divergenceSteps(a: Skim, b: Skim, toldAlike: ToldAlike): Steps<Divergence | null> {
  const lists = new MessageLists();
  const answers = new Answers();
  const first = new ComparedSession(a, lists, (asked) => answers.compare(asked, asked.other));
  const second = new ComparedSession(b, lists, (asked) => answers.compare(asked.other, asked));
  let found: Met | null = null;
  for (let [isOver, count] = [false, 1]; !isOver; count += 1) {
    if (count % stepsEach === 0) yield;
    const [nextA, nextB] = [first.nextStep(), second.nextStep()];
    isOver = nextA === null && nextB === null;
    const mets: readonly Met[] | null = found === null ? inStep(first, second, nextA, nextB) : null;
    for (const met of mets ?? meetings(first, second, found === null ? nextA : null, nextB)) {
      answers.meet(met);
      if (!isSame(met, toldAlike) && met.a.step < (found?.a.step ?? Infinity)) found = met;
    }
    if (found !== null) {
      // Steps of `b` that were read ahead only wait to be met.
      if (first.firstWaiting(found.a.step) === null) return partedTask(first, second, found.a.task) ?? partedAt(found);
    }
  }
  const [onlyA, onlyB] = [first.firstWaiting(found?.a.step ?? Infinity), second.firstWaiting(Infinity)];
  const task = partedTask(first, second, onlyA?.task ?? Infinity);
  if (task !== null) return task;
  if (onlyA !== null) return { kind: 'missing', in: 'b', step: onlyA.step };
  if (found !== null) return partedAt(found);
  if (onlyB !== null) return { kind: 'missing', in: 'a', step: onlyB.step };
  return answers.parting() ?? partedEnd(first, second);
}

/** Steps at the same place. */
interface Met {
  readonly a: ComparedStep;
  readonly b: ComparedStep;
}

/** Most sessions go the same way for long: then the next steps of both meet, and none has to wait. Returns null where that is not so. */
function inStep(
  first: ComparedSession,
  second: ComparedSession,
  a: ComparedStep | null,
  b: ComparedStep | null,
): readonly Met[] | null {
  if (a === null || b === null || first.waiting.size > 0 || second.waiting.size > 0) return null;
  return isSamePlace(a, b) ? [{ a, b }] : null;
}

/** Takes those out of what waits that have met now that these two have come. */
function meetings(
  first: ComparedSession,
  second: ComparedSession,
  a: ComparedStep | null,
  b: ComparedStep | null,
): readonly Met[] {
  const keys = [a, b].map((step) => (step === null ? null : keyOf(step)));
  const [keyA = null, keyB = null] = keys;
  if (a !== null && keyA !== null) first.waiting.set(keyA, a);
  if (b !== null && keyB !== null) second.waiting.set(keyB, b);
  return [...new Set(keys)].flatMap((key) => (key === null ? [] : met(first, second, key)));
}

/** None while one of the two steps of a key has not come. */
function met(first: ComparedSession, second: ComparedSession, key: string): readonly Met[] {
  const [a, b] = [first.waiting.get(key), second.waiting.get(key)];
  if (a === undefined || b === undefined) return [];
  first.waiting.delete(key);
  second.waiting.delete(key);
  return [{ a, b }];
}

/** Finds the first answer of `a` that is another than that of `b` to the same question; of the others nothing is kept. */
class Answers {
  #found: { readonly a: Asked; readonly b: Asked } | null = null;

  meet({ a: { asked: a }, b: { asked: b } }: Met): void {
    if (a === null || b === null) return;
    a.other = b;
    b.other = a;
    this.compare(a, b);
  }

  /** Looks at the two once both have their answers. */
  compare(a: Asked | null, b: Asked | null): void {
    if (a === null || b === null || a.order === null || b.order === null || a.value === b.value) return;
    if (a.order < (this.#found?.a.order ?? Infinity)) this.#found = { a, b };
  }

  parting(): Divergence | null {
    if (this.#found === null) return null;
    const { a, b } = this.#found;
    return { kind: 'answer', a: a.step, b: b.step, values: [a.value, b.value] };
  }
}

function isSame({ a, b }: Met, toldAlike: ToldAlike): boolean {
  const [first, second] = [a.start, b.start];
  if (!first.isModel || !second.isModel) {
    if (first.isModel === second.isModel && first.rest === second.rest) return true;
    return first.isHook && second.isHook && toldAlike(a.step, b.step);
  }
  if (first.fixed !== second.fixed) return false;
  if (extendsSame({ a, b })) return first.list === second.list;
  // The same messages may have been put together in another way.
  const [wholeA, wholeB] = [a.of.messagesOf(a.step), b.of.messagesOf(b.step)];
  const same = commonMessages(wholeA, wholeB);
  return same === (wholeA?.length ?? 0) && same === (wholeB?.length ?? 0);
}

function extendsSame({ a, b }: Met): boolean {
  return isSamePlace(a.of.baseOf(a.start), b.of.baseOf(b.start));
}

function partedAt(met: Met): Divergence {
  const { a, b } = met;
  if (!a.start.isModel || !b.start.isModel) return { kind: 'input', a: a.step, b: b.step };
  const isFixedSame = a.start.fixed === b.start.fixed;
  const lengths = [a.of.lengthOf(a.step), b.of.lengthOf(b.step)] as const;
  const known = { kind: 'request', a: a.step, b: b.step, isFixedSame, lengths } as const;
  if (!extendsSame(met)) {
    const [wholeA, wholeB] = [a.of.messagesOf(a.step), b.of.messagesOf(b.step)];
    const same = commonMessages(wholeA, wholeB);
    return { ...known, same, messages: [messageAt(wholeA, same), messageAt(wholeB, same)] };
  }
  // What both extend was compared when it came.
  const [addA, addB] = [a.start.add, b.start.add];
  const same = commonLength(addA, addB);
  const before = lengths[0] - a.start.added;
  return { ...known, same: before + same, messages: [addA[same] ?? null, addB[same] ?? null] };
}

/** The first task up to `last` whose texts differ. */
function partedTask(first: ComparedSession, second: ComparedSession, last: number): Divergence | null {
  const most = Math.min(last + 1, Math.max(first.tasks.length, second.tasks.length));
  for (let index = 0; index < most; index += 1) {
    const [a = null, b = null] = [first.tasks[index], second.tasks[index]];
    if (a !== b) return { kind: 'task', index, a, b };
  }
  return null;
}

function partedEnd(first: ComparedSession, second: ComparedSession): Divergence | null {
  for (let index = 0; index < first.tasks.length; index += 1) {
    const [a = null, b = null] = [first.ends.get(index), second.ends.get(index)];
    if (a !== b) return { kind: 'end', index, a, b };
  }
  return null;
}
