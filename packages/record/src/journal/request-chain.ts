/** Puts the requests of a session to the model together again: the journal holds of each only what it adds to one before it. */

import type { SkimmedEnd, SkimmedStart } from './skimmed-record.ts';

/** One request to the model. */
export interface ModelRequest {
  /** The number of its step. */
  readonly step: number;
  readonly start: SkimmedStart;
  /** The one that it extends; null for one that begins anew. */
  readonly base: ModelRequest | null;
  /** How many messages it has. */
  readonly length: number;
  /** All of them; null without one. */
  readonly messages: MessageList | null;
  /** Unix milliseconds at which its answer was there; null while it is not. */
  answeredAt: number | null;
}

/** The requests of a journal, given record by record. A `base` that no request has is taken for none. */
export class RequestChain {
  readonly #byPlace = new Map<string, ModelRequest>();
  readonly #lists: MessageLists;

  /** Requests of several sessions can be compared where these have one `lists`. */
  constructor(lists: MessageLists = new MessageLists()) {
    this.#lists = lists;
  }

  /** The request that a step of the model makes. */
  begin(step: number, start: SkimmedStart): ModelRequest {
    const { base: place, added } = start;
    const base = place === null ? null : (this.#byPlace.get(place) ?? null);
    const messages = this.#lists.extended(base?.messages ?? null, start.add);
    const request = { step, start, base, length: (base?.length ?? 0) + added, messages, answeredAt: null };
    this.#byPlace.set(start.e, request);
    return request;
  }

  end({ e, at }: SkimmedEnd): void {
    const request = this.#byPlace.get(e);
    if (request !== undefined) request.answeredAt = at;
  }
}

/** The hashes of the messages of a request, from the last one back. Lists with the same messages are the same one. */
export interface MessageList {
  readonly hash: string;
  /** All but the last; null without one. */
  readonly before: MessageList | null;
  /** One further back, so that any is reached in few steps; null without one. */
  readonly far: MessageList | null;
  readonly length: number;
  readonly id: number;
}

/** Makes lists of messages, each once. */
export class MessageLists {
  readonly #made = new Map<string, MessageList>();

  extended(list: MessageList | null, hashes: readonly string[]): MessageList | null {
    return hashes.reduce((before, hash) => this.#extendedBy(before, hash), list);
  }

  #extendedBy(before: MessageList | null, hash: string): MessageList {
    const key = `${before?.id ?? ''} ${hash}`;
    const known = this.#made.get(key);
    if (known !== undefined) return known;
    const { far = null } = before ?? {};
    // Where the last two leaps are of one width, the next is as wide as both.
    const isEven = lengthOf(before) - lengthOf(far) === lengthOf(far) - lengthOf(far?.far ?? null);
    const leap = isEven ? (far?.far ?? null) : before;
    const made = { hash, before, far: leap, length: lengthOf(before) + 1, id: this.#made.size };
    this.#made.set(key, made);
    return made;
  }
}

function lengthOf(list: MessageList | null): number {
  return list?.length ?? 0;
}

/** The first `length` messages of a list that has as many. */
function cutTo(list: MessageList | null, length: number): MessageList | null {
  let rest = list;
  while (rest !== null && rest.length > length) rest = lengthOf(rest.far) >= length ? rest.far : rest.before;
  return rest;
}

/** The hash of one message, from 0; null past the last. */
export function messageAt(list: MessageList | null, index: number): string | null {
  return index < lengthOf(list) ? (cutTo(list, index + 1)?.hash ?? null) : null;
}

/** How many messages two lists have in common, from the first on. */
export function commonMessages(a: MessageList | null, b: MessageList | null): number {
  const most = Math.min(lengthOf(a), lengthOf(b));
  let [first, second] = [cutTo(a, most), cutTo(b, most)];
  while (first !== second) {
    const isFurther = first?.far !== second?.far;
    [first, second] = isFurther
      ? [first?.far ?? null, second?.far ?? null]
      : [first?.before ?? null, second?.before ?? null];
  }
  return lengthOf(first);
}

/** How many messages two lists have in common, from the first on. */
export function commonLength(a: readonly string[], b: readonly string[]): number {
  const most = Math.min(a.length, b.length);
  for (let index = 0; index < most; index += 1) if (a[index] !== b[index]) return index;
  return most;
}
