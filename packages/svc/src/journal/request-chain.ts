/** Puts the requests of a session to the model together from what each adds to one before it. */

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
  /** Unix milliseconds at which its answer was there; null while it is not. */
  answeredAt: number | null;
}

/** The requests of a journal, told record by record. A `base` that no request has is taken for none. */
export class RequestChain {
  readonly #byPlace = new Map<string, ModelRequest>();

  /** The request that a step of the model makes. */
  begin(step: number, start: SkimmedStart): ModelRequest {
    const { base: place, added } = start;
    const base = place === null ? null : (this.#byPlace.get(place) ?? null);
    const request = { step, start, base, length: (base?.length ?? 0) + added, answeredAt: null };
    this.#byPlace.set(start.e, request);
    return request;
  }

  end({ e, at }: SkimmedEnd): void {
    const request = this.#byPlace.get(e);
    if (request !== undefined) request.answeredAt = at;
  }
}

/** The hashes of all messages of a request, in their order. */
export function messagesOf(request: ModelRequest): readonly string[] {
  const parts: (readonly string[])[] = [];
  for (let each: ModelRequest | null = request; each !== null; each = each.base) parts.push(each.start.add);
  return parts.toReversed().flat();
}

/** How many messages two lists have in common, from the first on. */
export function commonLength(a: readonly string[], b: readonly string[]): number {
  const most = Math.min(a.length, b.length);
  for (let index = 0; index < most; index += 1) if (a[index] !== b[index]) return index;
  return most;
}
