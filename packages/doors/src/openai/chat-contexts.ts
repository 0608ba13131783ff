/** Finds which conversation a request continues that has the whole history and no id: the hash of the history is the key. */

import { BoundedMap } from '@svc/kit/bounded-map.ts';
import { createHash, type Hash } from 'node:crypto';

import type { TaskId } from '@svc/protocol/ids.ts';
import type { Principal } from '../callers/principal.ts';
import type { Asked, Turn } from './params.ts';

/** Shared by all clients; least recently used entries are evicted. */
const maxKept = 1000;

type Client = Pick<Principal, 'name'>;
type Said = Pick<Asked, 'before' | 'text'>;

/** One conversation of a client, up to what it says now. It holds none of the texts. */
export interface ChatConversation {
  /** The task that said the last word before; null where this door did not give it to this client, or has forgotten. */
  readonly before: TaskId | null;
  /** Takes note that the task has said this in answer. */
  answered(text: string, task: TaskId): void;
}

/** Maps each conversation to the task that wrote its last message. */
export class ChatContexts {
  readonly #tasks = new BoundedMap<string, TaskId>(maxKept);

  conversation(client: Client, { before, text }: Said): ChatConversation {
    const said = createHash('sha256').update(client.name);
    for (const [at, turn] of before.entries()) {
      // A client of responses may keep each turn of the model; the last of them is the answer.
      const isAnswer = turn.role !== 'assistant' || before[at + 1]?.role !== 'assistant';
      if (isAnswer) add(said, turn);
    }
    const last = before.at(-1)?.role === 'assistant' ? this.#use(said.copy().digest('base64')) : null;
    add(said, { role: 'user', text });
    return { before: last, answered: (answer, task) => void this.#tasks.set(withAnswer(said, answer), task) };
  }

  #use(key: string): TaskId | null {
    const task = this.#tasks.get(key) ?? null;
    if (task !== null) this.#tasks.set(key, task);
    return task;
  }
}

/** White space around a text counts for nothing: some clients take it off. */
function add(said: Hash, { role, text }: Turn): void {
  const trimmed = text.trim();
  said.update(`\n${role} ${trimmed.length} `).update(trimmed);
}

function withAnswer(said: Hash, text: string): string {
  const whole = said.copy();
  add(whole, { role: 'assistant', text });
  return whole.digest('base64');
}
