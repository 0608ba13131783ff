/** Carries what a provider signs of its thinking from one turn to the next. */

import type { ThinkingBlock } from '@svc/guest/driver.ts';
import type { JsonObject } from '@svc/guest/json.ts';

const redactedMark = 'redacted_thinking:';

/** A thinking block whose text the provider keeps to itself; its data travels where others have their signature. */
export function redactedThinking(data: string): ThinkingBlock {
  return { text: '', signature: redactedMark + data };
}

/** The block as the provider wants it back; null for one it never signed, which it would refuse. */
export function thinkingForProvider({ text, signature }: ThinkingBlock): JsonObject | null {
  if (signature === null || signature === '') return null;
  return signature.startsWith(redactedMark)
    ? { type: 'redacted_thinking', data: signature.slice(redactedMark.length) }
    : { type: 'thinking', thinking: text, signature };
}
