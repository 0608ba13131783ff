/** Carries what a provider signs of its thinking from one turn to the next. */

import type { ContentBlock, DriverResponse, ThinkingBlock } from '../../driver.ts';
import { textIn, type JsonObject } from '../../json.ts';
import { carried, carriedBy, isCarried } from '../companions.ts';
import { isPlainId } from '../conversation.ts';

const redactedMark = 'redacted_thinking:';

/** A thinking block whose text the provider keeps to itself; its data travels where others have their signature. */
export function redactedThinking(data: string): ThinkingBlock {
  return { text: '', signature: redactedMark + data };
}

/** The response with signatures that say who gave them, and ids of calls that only their giver takes. */
export function signedBy(giver: string, response: DriverResponse): DriverResponse {
  const calls = response.content.flatMap((block) => (block.tag === 'tool-call' ? [block.val] : []));
  // Thinking that was cut off has no signature, and is refused. Servers that sign nothing want it back with calls.
  const isWanted = ({ signature }: ThinkingBlock): boolean => (signature ?? '') !== '' || calls.length > 0;
  const content = response.content.map((block): ContentBlock =>
    block.tag === 'thinking' && isWanted(block.val)
      ? { tag: 'thinking', val: { ...block.val, signature: carried(giver, { signature: block.val.signature ?? '' }) } }
      : block,
  );
  const isOdd = calls.some(({ id }) => id !== '' && !isPlainId(id)) && content.every(({ tag }) => tag !== 'thinking');
  const sign: ContentBlock = { tag: 'thinking', val: { text: '', signature: carried(giver, {}) } };
  return { ...response, content: isOdd ? [sign, ...content] : content };
}

/** The block as the provider wants it back; null for one that it would refuse: another gave it, or nobody signed it. */
export function thinkingForProvider({ text, signature }: ThinkingBlock, giver: string): JsonObject | null {
  const own = carriedBy(signature, giver);
  if (own !== null) return typeof own['signature'] === 'string' ? signedThinking(text, textIn(own, 'signature')) : null;
  // Conversations of before say nothing of who gave it.
  return signature === null || signature === '' || isCarried(signature) ? null : signedThinking(text, signature);
}

function signedThinking(text: string, signature: string): JsonObject {
  return signature.startsWith(redactedMark)
    ? { type: 'redacted_thinking', data: signature.slice(redactedMark.length) }
    : { type: 'thinking', thinking: text, signature };
}
