import { createHash } from 'node:crypto';

import type { Message } from '../driver.ts';

/** More than a session holds open at a time. */
const mostKept = 64;

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

  /** The longest known one that these messages only add to; null when there is none. */
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
    this.#known = [...others, { length: messages.length, digest: digestOf(messages), id }].slice(-mostKept);
  }

  forget(id: string): void {
    this.#known = this.#known.filter((known) => known.id !== id);
  }
}

function digestOf(messages: readonly Message[]): string {
  return createHash('sha256').update(JSON.stringify(messages)).digest('base64');
}
