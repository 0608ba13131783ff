/** Maps idempotency keys to tasks, so that a retry starts no second task. */

import { BoundedMap } from '@svc/kit/bounded-map.ts';
import { sha256Hex } from '@svc/kit/sha256.ts';
import type { TaskId } from '@svc/protocol/ids.ts';

/** Keys of one session; beyond it the oldest are forgotten (docs/protocol.md "Limits"). */
const maxKeys = 1_000;

/** A message as its key stands for it. */
export interface KeyedMessage {
  readonly principal: string;
  readonly key: string;
  readonly text: string;
  /** The message's own; undefined when it names none. */
  readonly contextId: string | undefined;
  /** The task whose question it names; undefined when it names none. */
  readonly answers?: string | undefined;
  /** The skills that it names; undefined when it names none. */
  readonly skills?: readonly string[] | undefined;
}

/** The messages of a session that came with a key (docs/protocol.md "Sending again"). */
export class SentMessages {
  readonly #sent = new BoundedMap<string, { readonly digest: string; readonly taskId: TaskId }>(maxKeys);

  /** Returns the task of this key; `'other'` if the key belongs to a different message; null if it is new. */
  find(message: KeyedMessage): { readonly taskId: TaskId } | 'other' | null {
    const sent = this.#sent.get(nameOf(message));
    if (sent === undefined) return null;
    return sent.digest === digestOf(message) ? sent : 'other';
  }

  add(message: KeyedMessage, taskId: TaskId): void {
    this.#sent.set(nameOf(message), { digest: digestOf(message), taskId });
  }
}

/** Keys have no spaces, so no two pairs look alike. */
function nameOf({ principal, key }: KeyedMessage): string {
  return `${key} ${principal}`;
}

function digestOf({ text, contextId, answers = '', skills = [] }: KeyedMessage): string {
  return sha256Hex(
    `${answers} ${skills.join()} ${contextId === undefined ? 'none' : `${contextId.length} ${contextId}`} ${text}`,
  );
}
