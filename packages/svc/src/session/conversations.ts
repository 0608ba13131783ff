import type { Message } from '../inference/driver.ts';
import type { ContextId } from '@svc/protocol/ids.ts';

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
