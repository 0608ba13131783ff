import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import type { Message } from '../inference/driver.ts';
import type { ContextId } from '@svc/protocol/ids.ts';

/** What earlier tasks of a context said; only a completed task adds to it. */
export interface Conversations {
  history(context: ContextId): readonly Message[];
  save(context: ContextId, messages: readonly Message[]): void;
}

/** Contexts kept; the one saved longest ago goes first. */
export const mostContexts = 256;

/** Of one conversation, written as a file. A model's context of a million tokens is some 4 MiB of text. */
export const mostConversationBytes = 16 * 1024 * 1024;

/** `E-RUN-032` for a conversation that is longer than that. */
export function refuseTooLong(bytes: number): void {
  if (bytes <= mostConversationBytes) return;
  const message = `the conversation is too long to be kept: ${bytes} bytes, at most ${mostConversationBytes}`;
  throw new Diagnostic('E-RUN-032', message, {
    hint: 'set inference.context.max_tokens to have it compacted, or begin another context',
  });
}
