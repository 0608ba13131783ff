/** Counts the tokens of a session against its limit. */

import type { InferenceRequest, InferenceResponse, Message } from './driver.ts';
import type { Usage } from './driver-notes.ts';

/** Tokens a session has used, against `inference.max_session_tokens`. */
export class SpendMeter {
  readonly #ceiling: number | null;
  #used: Usage = { inputTokens: 0, outputTokens: 0 };
  #held = 0;

  constructor(ceiling: number | null) {
    this.#ceiling = ceiling;
  }

  /** What all calls came to so far, those that hooks asked for among them. */
  get used(): Usage {
    return this.#used;
  }

  get #spent(): number {
    return addedTokens(this.#used.inputTokens, this.#used.outputTokens);
  }

  /** Refuses a call that could pass the ceiling: its input as estimated and its output at its longest. */
  check(request: InferenceRequest): SpendRefusal | null {
    if (this.#ceiling === null) return null;
    const estimate = maxOf(request);
    if (this.#spent + this.#held + estimate <= this.#ceiling) return null;
    return { ceiling: this.#ceiling, spent: this.#spent, held: this.#held, estimate };
  }

  /** Sets aside what a call may come to while it is under way, until the function it gives is called: others may be made beside it. */
  hold(request: InferenceRequest): () => void {
    if (this.#ceiling === null) return () => {};
    const estimate = maxOf(request);
    this.#held += estimate;
    return () => {
      this.#held -= estimate;
    };
  }

  /** Counts a call. */
  record(request: InferenceRequest, response: InferenceResponse): Usage {
    const usage = usageOf(request, response);
    this.#used = addedUsage(this.#used, usage);
    return usage;
  }
}

export function addedUsage(one: Usage, other: Usage): Usage {
  return {
    inputTokens: addedTokens(one.inputTokens, other.inputTokens),
    outputTokens: addedTokens(one.outputTokens, other.outputTokens),
  };
}

/** Counts of tokens in all. Journal and trace take no number beyond 2^53-1, which a provider may report of each. */
export function addedTokens(...counts: readonly number[]): number {
  return counts.reduce((sum, count) => Math.min(sum + count, Number.MAX_SAFE_INTEGER), 0);
}

/** What the provider reported of a call, else an estimate by length. */
export function usageOf(request: InferenceRequest, response: InferenceResponse): Usage {
  return (
    response.usage ?? {
      inputTokens: estimateRequest(request),
      outputTokens: estimateTokens(response.content),
    }
  );
}

function maxOf(request: InferenceRequest): number {
  return estimateRequest(request) + request.maxTokens;
}

/** Characters of a request or reply that count as one token where a provider reports none. */
const charactersPerToken = 4;

/** What a value would take of a model's context, by the length of its JSON. */
export function estimateTokens(value: unknown): number {
  return Math.ceil(JSON.stringify(value).length / charactersPerToken);
}

const lengths = new WeakMap<Message, number>();

/** The same of a request. Each message is measured once, however often it is sent. */
export function estimateRequest({ messages, ...rest }: InferenceRequest): number {
  let length = JSON.stringify({ ...rest, messages: [] }).length + Math.max(0, messages.length - 1);
  for (const message of messages) length += lengthOf(message);
  return Math.ceil(length / charactersPerToken);
}

function lengthOf(message: Message): number {
  const known = lengths.get(message);
  if (known !== undefined) return known;
  const { length } = JSON.stringify(message);
  lengths.set(message, length);
  return length;
}

/** Why a call of the model is not made: it could pass `inference.max_session_tokens`. In tokens. */
export interface SpendRefusal {
  readonly ceiling: number;
  readonly spent: number;
  /** Set aside for calls that are under way. */
  readonly held: number;
  readonly estimate: number;
}

/** As a sentence; `call` is what may need the estimate. */
export function refusalSentence({ ceiling, spent, held, estimate }: SpendRefusal, call: string): string {
  const aside = held === 0 ? '' : `, ${held} set aside for calls under way`;
  return `spend ceiling reached: ${spent} of ${ceiling} session tokens used${aside}, ${call} may need ${estimate}`;
}
