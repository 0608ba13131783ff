/** Takes the middle out of the long results of tools. */

import type { ContentBlock, Message } from '@svc/guest/driver.ts';
import { wellFormed } from '@svc/guest/text.ts';

/** The messages with the middle taken out of every text of a tool's result that is longer than `longest` characters. */
export function cutResults(messages: readonly Message[], longest: number): readonly Message[] {
  return messages.map((message) => {
    if (message.tag !== 'tool') return message;
    const content = message.val.content.map((block) => cutBlock(block, longest));
    return { tag: 'tool', val: { ...message.val, content } };
  });
}

/** `text` without its middle: the ends of a result say what it is, and close what they open. */
export function withoutMiddle(text: string, longest: number): string {
  if (text.length <= longest) return text;
  const kept = Math.floor(longest / 2);
  const mark = `\n[… ${text.length - 2 * kept} characters were taken out here to save room …]\n`;
  return wellFormed(`${text.slice(0, kept)}${mark}${text.slice(text.length - kept)}`);
}

function cutBlock(block: ContentBlock, longest: number): ContentBlock {
  return block.tag === 'text' ? { tag: 'text', val: withoutMiddle(block.val, longest) } : block;
}
