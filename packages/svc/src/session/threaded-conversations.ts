import type { Message } from '../inference/driver.ts';
import type { ContextId } from '@svc/protocol/ids.ts';
import { type Conversations, mostContexts, refuseTooLong, encodeConversation } from './conversations.ts';

/** Of all conversations, each measured as it would be kept in a file. */
const mostBytesInAll = 256 * 1024 * 1024;

interface Thread {
  readonly messages: readonly Message[];
  readonly bytes: number;
}

/**
 * `threaded`: tasks of one context continue each other for as long as the session lives. Every message without a context opens another, so
 * the contexts saved last are kept; a conversation that is too long fails `save` with `E-RUN-032`.
 */
export function threadedConversations(): Conversations {
  const threads = new Map<ContextId, Thread>();
  let bytesInAll = 0;
  const forget = (context: ContextId): void => {
    bytesInAll -= threads.get(context)?.bytes ?? 0;
    threads.delete(context);
  };
  return {
    history: (context) => threads.get(context)?.messages ?? [],
    save: (context, messages) => {
      const bytes = Buffer.byteLength(encodeConversation(context, messages, (text) => text));
      refuseTooLong(bytes);
      forget(context);
      threads.set(context, { messages, bytes });
      bytesInAll += bytes;
      for (const oldest of threads.keys()) {
        if (threads.size <= mostContexts && bytesInAll <= mostBytesInAll) return;
        forget(oldest);
      }
    },
  };
}
