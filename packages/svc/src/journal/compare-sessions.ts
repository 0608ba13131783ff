/** Finds the first point where two sessions part. */

import type { SkimmedRecord } from './journal-skim.ts';
import type { SkimmedStart } from './skimmed-record.ts';
import { commonLength, messagesOf, type ModelRequest, RequestChain } from './request-chain.ts';

type ComparedScan = Iterable<SkimmedRecord>;

/** A step of either session, by its number there. */
interface Met {
  readonly step: number;
  readonly start: SkimmedStart;
}

/** Where two sessions part: hashes are of bodies of `a` and of `b`. */
export type Parting =
  /** The `index`-th task, from 0, was given another text, or there is none in one of them. */
  | { readonly kind: 'task'; readonly index: number; readonly a: string | null; readonly b: string | null }
  /** A step of one has none at its place in the other. */
  | { readonly kind: 'missing'; readonly in: 'a' | 'b'; readonly step: number; readonly start: SkimmedStart }
  /** A step at the same place has another name or port, or another input. */
  | { readonly kind: 'input'; readonly a: Met; readonly b: Met }
  | RequestParting
  /** All requests are the same, and the answer to one is not. */
  | {
      readonly kind: 'answer';
      readonly a: Met;
      readonly b: Met;
      readonly values: readonly [string | null, string | null];
    }
  /** A task came to another end. */
  | { readonly kind: 'end'; readonly index: number; readonly a: string | null; readonly b: string | null };

export interface RequestParting {
  readonly kind: 'request';
  readonly a: ModelRequest;
  readonly b: ModelRequest;
  /** The model, system prompt, tools or limit of tokens differ. */
  readonly isFixedSame: boolean;
  /** How many messages are the same, from the first on. */
  readonly same: number;
  readonly messages: readonly [readonly string[], readonly string[]];
}

/**
 * The first point where session `b` is not as session `a`, in the order of `a`; null when there is none. Steps are compared with those at the
 * same place, tasks being counted, so ids and what ran at the same time do not matter. Hashes alone are compared: no body is read.
 */
export function partingOf(a: ComparedScan, b: ComparedScan): Parting | null {
  const [first, second] = [readSession(a), readSession(b)];
  for (const [place, met] of first.steps) {
    const found = partedAt(met, second.steps.get(place));
    if (found !== null) return partedTask(first, second, met.task) ?? found;
  }
  for (const [place, { step, start }] of second.steps) {
    if (!first.steps.has(place))
      return partedTask(first, second, Infinity) ?? { kind: 'missing', in: 'a', step, start };
  }
  return partedTask(first, second, Infinity) ?? partedAnswer(first, second) ?? partedEnd(first, second);
}

interface ReadStep extends Met {
  readonly request: ModelRequest | null;
  /** The number of its task, from 0; -1 of a step of the session itself. */
  readonly task: number;
  /** The place of the request that it extends, spelled as the keys of `steps`. */
  readonly base: string | null;
  value: string | null;
}

interface ReadSession {
  /** By their places, in which a task has its number instead of its id. */
  readonly steps: ReadonlyMap<string, ReadStep>;
  /** Hashes of their texts. */
  readonly tasks: readonly string[];
  /** What became of each. */
  readonly ends: ReadonlyMap<number, string>;
}

function readSession(scan: ComparedScan): ReadSession {
  const chain = new RequestChain();
  const numbers = new Map<string, number>();
  const tasks: string[] = [];
  const ends = new Map<number, string>();
  const steps = new Map<string, ReadStep>();
  const open = new Map<string, ReadStep>();
  let count = 0;
  for (const record of scan) {
    switch (record.k) {
      case 'task':
        numbers.set(record.id, tasks.length);
        tasks.push(record.text);
        break;
      case 'task-end':
        ends.set(numbers.get(record.id) ?? -1, record.state);
        break;
      case 'start': {
        count += 1;
        const { task, key } = placeIn(record.e, numbers);
        const request = record.port === 'model' ? chain.begin(count, record) : null;
        const base = record.port === 'model' && record.base !== null ? placeIn(record.base, numbers).key : null;
        const step = { step: count, start: record, request, task, base, value: null };
        steps.set(key, step);
        open.set(record.e, step);
        break;
      }
      case 'end': {
        const step = open.get(record.e);
        if (step !== undefined) step.value = record.value;
        open.delete(record.e);
        break;
      }
    }
  }
  return { steps, tasks, ends };
}

/** A place with the number of its task instead of the id, and that number. */
function placeIn(place: string, numbers: ReadonlyMap<string, number>): { readonly task: number; readonly key: string } {
  const slash = place.indexOf('/');
  const task = numbers.get(place.slice(0, slash)) ?? -1;
  return { task, key: task < 0 ? place : task + place.slice(slash) };
}

function partedAt(a: ReadStep, b: ReadStep | undefined): Parting | null {
  if (b === undefined) return { kind: 'missing', in: 'b', step: a.step, start: a.start };
  if (a.request !== null && b.request !== null) {
    // What both extend was compared when it came.
    const extendsSame = a.base === b.base && isSameAddition(a.request, b.request);
    return partedRequest(a.request, b.request, extendsSame);
  }
  const isSame =
    a.start.port === b.start.port && a.start.name === b.start.name && inputOf(a.start) === inputOf(b.start);
  return isSame ? null : { kind: 'input', a, b };
}

function inputOf(start: SkimmedStart): string | null {
  return start.port === 'model' ? null : start.in;
}

function partedRequest(a: ModelRequest, b: ModelRequest, extendsSame: boolean): RequestParting | null {
  const isFixedSame = a.start.fixed === b.start.fixed;
  if (isFixedSame && extendsSame) return null;
  const messages = [messagesOf(a), messagesOf(b)] as const;
  const same = commonLength(...messages);
  if (isFixedSame && same === a.length && same === b.length) return null;
  return { kind: 'request', a, b, isFixedSame, same, messages };
}

function isSameAddition(a: ModelRequest, b: ModelRequest): boolean {
  const [ofA, ofB] = [a.start.add, b.start.add];
  return ofA.length === ofB.length && commonLength(ofA, ofB) === ofA.length;
}

/** The first task up to `last` whose texts differ. */
function partedTask(first: ReadSession, second: ReadSession, last: number): Parting | null {
  const most = Math.min(last + 1, Math.max(first.tasks.length, second.tasks.length));
  for (let index = 0; index < most; index += 1) {
    const [a = null, b = null] = [first.tasks[index], second.tasks[index]];
    if (a !== b) return { kind: 'task', index, a, b };
  }
  return null;
}

function partedAnswer(first: ReadSession, second: ReadSession): Parting | null {
  for (const [place, a] of first.steps) {
    const b = second.steps.get(place);
    if (b === undefined || a.request === null || a.value === b.value) continue;
    return { kind: 'answer', a, b, values: [a.value, b.value] };
  }
  return null;
}

function partedEnd(first: ReadSession, second: ReadSession): Parting | null {
  for (let index = 0; index < first.tasks.length; index += 1) {
    const [a = null, b = null] = [first.ends.get(index), second.ends.get(index)];
    if (a !== b) return { kind: 'end', index, a, b };
  }
  return null;
}
