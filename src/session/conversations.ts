import type { Message } from '../inference/driver.ts';
import type { ContextId } from '../wire/ids.ts';

/** What earlier tasks of a context said; only a completed task adds to it. */
export interface Conversations {
  history(context: ContextId): readonly Message[];
  save(context: ContextId, messages: readonly Message[]): void;
}

/** `lifecycle.conversation: stateless`: every task starts from nothing. */
export const statelessConversations: Conversations = {
  history: () => [],
  save: () => {},
};

/** Contexts remembered; every message without one opens another, so that a capsule that stays up would grow for weeks. */
const remembered = 256;

/** `threaded`: tasks of one context continue each other for as long as the session lives. The contexts last used are kept. */
export function threadedConversations(): Conversations {
  const threads = new Map<ContextId, readonly Message[]>();
  return {
    history: (context) => threads.get(context) ?? [],
    save: (context, messages) => {
      threads.delete(context);
      threads.set(context, messages);
      const [oldest] = threads.keys();
      if (threads.size > remembered && oldest !== undefined) threads.delete(oldest);
    },
  };
}
