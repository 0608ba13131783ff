/** Remembers which conversations a coding program can go on with. */

import { createHash } from 'node:crypto';

import { withDigits } from '@svc/kit/exact-json.ts';
import type { Message, ContentBlock } from '../driver.ts';

/** More than a session holds open at a time. */
const maxKept = 64;

interface Known {
  readonly length: number;
  readonly digest: string;
  readonly id: string;
}

export interface Continuation {
  /** The program's own id of the conversation. */
  readonly id: string;
  /** What was said since; at least one message. */
  readonly rest: readonly Message[];
}

/**
 * The conversations that a program remembers, by what was said in them. One whose history was changed (compacted, say) is not found any more, so
 * that the program never goes on with what the capsule has dropped.
 */
export class KnownConversations {
  #known: readonly Known[] = [];

  /** Returns the longest known one that these messages only add to, or null. */
  find(messages: readonly Message[]): Continuation | null {
    const candidates = this.#known.filter(({ length }) => length < messages.length);
    const found = candidates
      .toSorted((one, other) => other.length - one.length)
      .find(({ length, digest }) => digestOf(messages.slice(0, length)) === digest);
    return found === undefined ? null : { id: found.id, rest: messages.slice(found.length) };
  }

  /** A conversation that goes on replaces what was known of it: the program adds to the same one. */
  remember(messages: readonly Message[], id: string): void {
    const others = this.#known.filter((known) => known.id !== id);
    this.#known = [...others, { length: messages.length, digest: digestOf(messages), id }].slice(-maxKept);
  }

  forget(id: string): void {
    this.#known = this.#known.filter((known) => known.id !== id);
  }
}

function digestOf(messages: readonly Message[]): string {
  return createHash('sha256').update(JSON.stringify(messages)).digest('base64');
}

/** The text that goes on with a conversation which the program remembers: what was said since. */
export function continuationPrompt(messages: readonly Message[]): string {
  return messages
    .map(textOf)
    .filter((text) => text !== '')
    .join('\n\n');
}

/** The text that begins a conversation: the one message, or what was said before and then the last. */
export function openingPrompt(messages: readonly Message[]): string {
  const last = messages.at(-1);
  if (last === undefined) return '';
  const before = messages.slice(0, -1);
  if (before.length === 0) return textOf(last);
  return [
    'This conversation began earlier. What was said so far, in order:',
    ...before.map((message) => `[${speakerOf(message)}]\n${textOf(message)}`),
    `[end of what was said so far]\n\nIt goes on with:\n\n${textOf(last)}`,
  ].join('\n\n');
}

function speakerOf(message: Message): string {
  if (message.role !== 'tool') return message.role;
  return `${message.isError ? 'failure' : 'result'} of ${message.toolCallId}`;
}

function textOf({ content }: Message): string {
  return content
    .map(blockText)
    .filter((text) => text !== '')
    .join('\n');
}

function blockText(block: ContentBlock): string {
  switch (block.type) {
    case 'text':
      return block.text;
    case 'thinking':
      return '';
    case 'tool_call':
      return `(calls ${block.name} as ${block.id}: ${withDigits(block.input, block.digits)})`;
  }
}
