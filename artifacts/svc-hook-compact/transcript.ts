/** Writes messages as text that a model can sum up. */

import type { ContentBlock, Message } from '@svc/guest/driver.ts';
import { withoutMiddle } from './cut-results.ts';

const maxResult = 1_500;
const maxText = 6_000;

/** Messages as text for the model to sum up, of at most about `longest` characters. Thoughts are left out. */
export function transcriptOf(messages: readonly Message[], longest: number): string {
  return withoutMiddle(messages.map(entryOf).join('\n\n'), longest);
}

function entryOf(message: Message): string {
  if (message.tag !== 'tool') {
    const who = message.tag === 'user' ? 'User' : 'Assistant';
    return [`${who}:`, ...message.val.flatMap((block) => lineOf(block, maxText))].join('\n');
  }
  const { content, isError } = message.val;
  const title = isError ? 'Result, an error:' : 'Result:';
  return [title, ...content.flatMap((block) => lineOf(block, maxResult))].join('\n');
}

function lineOf(block: ContentBlock, longest: number): readonly string[] {
  switch (block.tag) {
    case 'text':
      return [withoutMiddle(block.val, longest)];
    case 'tool-call':
      return [`(calls ${block.val.name} with ${withoutMiddle(block.val.input, maxResult)})`];
    case 'thinking':
      return [];
  }
}
