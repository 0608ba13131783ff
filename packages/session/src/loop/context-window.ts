/** Knows how long a conversation is, and when it nears what its model can take. */

import { lastingReason } from '@svc/guest/provider/failure-reason.ts';
import type { InferenceRequest, Message, ContentBlock } from '../model/driver.ts';
import type { Usage } from '../model/driver-notes.ts';
import { addedTokens, estimateRequest, estimateTokens } from '../model/spend-meter.ts';

export interface ContextLimit {
  /** `inference.context.max_tokens`; null when the manifest names none, and then nothing is ever compacted. */
  readonly maxTokens: number | null;
  /** `inference.compaction.threshold`, the part of it that may be used. */
  readonly threshold: number;
}

/** A request that takes more of its model's context than it may. */
export interface Overflow {
  readonly estimatedTokens: number;
  readonly maxTokens: number;
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
  #isRefused = false;

  constructor(limit: ContextLimit) {
    this.#limit = limit;
  }

  /** Takes the provider's count of a call; `messages` is the conversation with the response. */
  measured(messages: readonly Message[], { inputTokens, outputTokens }: Usage): void {
    this.#isRefused = false;
    this.#measured = { messages: messages.length, tokens: addedTokens(inputTokens, outputTokens) };
  }

  /** The conversation is another one now, which nobody has counted. */
  replaced(): void {
    this.#measured = null;
  }

  /** Why the conversation is to be compacted before this request; null while there is room (docs/manifest.md "Keys"). */
  overflow(request: InferenceRequest): Overflow | null {
    const { maxTokens, threshold } = this.#limit;
    if (maxTokens === null) return null;
    const estimatedTokens = this.#estimate(request);
    return estimatedTokens > maxTokens * threshold ? { estimatedTokens, maxTokens } : null;
  }

  /**
   * What a provider's refusal says of a request: null where its words are not that the conversation is too long, and when another request was refused so
   * since the last answer. Without a number in them that is below the estimate, half of the estimate counts as what the model takes.
   */
  refused(request: InferenceRequest, words: string): Overflow | null {
    if (this.#isRefused || lastingReason(words) !== 'context') return null;
    this.#isRefused = true;
    const estimatedTokens = this.#estimate(request);
    const named = namedLimit(words) ?? Infinity;
    // Above the estimate, it is the estimate that is wrong: a token may have one character.
    const maxTokens = named < estimatedTokens ? named : Math.floor(estimatedTokens / 2);
    return { estimatedTokens, maxTokens: Math.max(1, maxTokens) };
  }

  #estimate(request: InferenceRequest): number {
    const byLength = estimateRequest(request);
    if (this.#measured === null) return byLength;
    const added = request.messages.slice(this.#measured.messages);
    // A provider that counts nothing, or a cached part of it, must not hide how long the text is.
    return Math.max(addedTokens(this.#measured.tokens, estimateTokens(added)), byLength);
  }
}

/** The tokens that a model takes, in the words of its provider; null where they name none. */
function namedLimit(words: string): number | null {
  const near =
    /(?:maximum|limit|context (?:length|size|window))[^.\d]{0,60}?(\d[\d,]{2,11})|(\d[\d,]{2,11})[ a-z]{0,20}maximum/i;
  const [, after, before] = near.exec(words) ?? [];
  const digits = (after ?? before)?.replaceAll(',', '');
  return digits === undefined ? null : Number(digits);
}

/** How many characters the conversation of a running task may have. Each turn encodes all of it; a task that goes beyond this fails. */
export const maxConversation: number = 32 * 1024 * 1024;

const lengths = new WeakMap<Message, number>();

/** Characters of all that a conversation holds. Each message is measured once: a turn asks for all of them again. */
export function conversationLength(messages: readonly Message[]): number {
  return messages.reduce((sum, message) => sum + messageLength(message), 0);
}

function messageLength(message: Message): number {
  const known = lengths.get(message);
  if (known !== undefined) return known;
  const ofCall = message.role === 'tool' ? message.toolCallId.length : 0;
  const length = message.content.reduce((sum, block) => sum + blockLength(block), ofCall);
  lengths.set(message, length);
  return length;
}

function blockLength(block: ContentBlock): number {
  switch (block.type) {
    case 'text':
      return block.text.length;
    case 'thinking':
      return block.text.length + (block.signature?.length ?? 0);
    case 'tool_call':
      return block.id.length + block.name.length + JSON.stringify(block.input ?? null).length;
  }
}
