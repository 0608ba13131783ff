import type { InferenceRequest, Message, Usage } from '../inference/driver.ts';
import { estimateRequest, estimateTokens } from './token-estimate.ts';

export interface ContextLimit {
  /** `inference.context.max_tokens`; null when the manifest names none, and then nothing is ever compacted. */
  readonly maxTokens: number | null;
  /** `inference.compaction.threshold`, the part of it that may be used. */
  readonly threshold: number;
}

interface Measured {
  /** Messages that the count covers. */
  readonly messages: number;
  readonly tokens: number;
}

/** How much of a model's context a conversation takes: what the provider counted last, and an estimate of what came since. */
export class ContextWindow {
  readonly #limit: ContextLimit;
  #measured: Measured | null = null;

  constructor(limit: ContextLimit) {
    this.#limit = limit;
  }

  /** Takes the provider's count of a call; `messages` is the conversation with the response. */
  measured(messages: readonly Message[], { inputTokens, outputTokens }: Usage): void {
    this.#measured = { messages: messages.length, tokens: inputTokens + outputTokens };
  }

  /** What is to be compacted before this request; null while there is room (contracts §3 `inference.compaction.threshold`). */
  overflow(request: InferenceRequest): { readonly estimatedTokens: number; readonly maxTokens: number } | null {
    const { maxTokens, threshold } = this.#limit;
    if (maxTokens === null) return null;
    const estimatedTokens = this.#estimate(request);
    return estimatedTokens > maxTokens * threshold ? { estimatedTokens, maxTokens } : null;
  }

  #estimate(request: InferenceRequest): number {
    const byLength = estimateRequest(request);
    if (this.#measured === null) return byLength;
    const added = request.messages.slice(this.#measured.messages);
    // A provider that counts nothing, or a cached part of it, must not hide how long the text is.
    return Math.max(this.#measured.tokens + estimateTokens(added), byLength);
  }
}
