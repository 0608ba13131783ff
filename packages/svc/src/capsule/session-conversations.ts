/** Chooses where the conversations of a session are kept. */

import type { Conversations } from '../session/conversations.ts';
import type { OpenSessionRequest } from './open-session.ts';
import type { SessionDirectories } from './session-directories.ts';

export interface SessionConversations {
  /** Null where every task starts from nothing. */
  readonly conversations: Conversations | null;
  readonly close: () => void;
}

/**
 * What `lifecycle.conversation` asks for. Threads belong to the workdir that `--workdir` names and survive the session then; in a fresh
 * workdir they live as long as the session (ADR 0045).
 */
export async function openConversations(
  { request, launch, sessionId }: Pick<OpenSessionRequest, 'request' | 'launch' | 'sessionId'>,
  { workdir }: SessionDirectories,
): Promise<SessionConversations> {
  const { lifecycle, name: capsule } = launch.loaded.manifest;
  if (lifecycle.conversation === 'stateless') return { conversations: null, close: () => {} };
  if (request.workdir === null) {
    const { threadedConversations } = await import('../session/conversations.ts');
    return { conversations: threadedConversations(), close: () => {} };
  }
  const [{ KeptConversations }, { openConversationPlace }] = await Promise.all([
    import('../session/kept-conversations.ts'),
    import('./conversation-place.ts'),
  ]);
  const place = openConversationPlace({ root: launch.source.root, capsule, workdir, sessionId });
  const redact = (text: string): string => launch.redactor.redact(text);
  return { conversations: new KeptConversations({ directory: place.directory, redact }), close: place.release };
}
