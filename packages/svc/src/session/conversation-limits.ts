import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import type { ContentBlock, Message } from '../inference/driver.ts';

/** Contexts kept; the one saved longest ago goes first. */
export const mostContexts = 256;

/** Of one conversation, written as a file. A model's context of a million tokens is some 4 MiB of text. */
export const mostConversationBytes = 16 * 1024 * 1024;

/** Of the conversation of a running task, in characters: each turn encodes it whole, and a task that passes this fails. */
export const longestConversation: number = 32 * 1024 * 1024;

const lengths = new WeakMap<Message, number>();

/** Characters of all that a conversation holds. Each message is measured once: a turn asks for all of them again. */
export function conversationLength(messages: readonly Message[]): number {
  return messages.reduce((sum, message) => sum + messageLength(message), 0);
}

function messageLength(message: Message): number {
  const known = lengths.get(message);
  if (known !== undefined) return known;
  const length = message.content.reduce((sum, block) => sum + blockLength(block), 0);
  lengths.set(message, length);
  return length;
}

function blockLength(block: ContentBlock): number {
  return block.type === 'tool_call' ? JSON.stringify(block.input ?? null).length : block.text.length;
}

/** `E-RUN-032` for a conversation that is longer than that. */
export function refuseTooLong(bytes: number): void {
  if (bytes <= mostConversationBytes) return;
  const message = `the conversation is too long to be kept: ${bytes} bytes, at most ${mostConversationBytes}`;
  throw new Diagnostic('E-RUN-032', message, {
    hint: 'set inference.context.max_tokens to have it compacted, or begin another context',
  });
}
