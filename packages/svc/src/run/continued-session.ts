/** Reads the session that a run goes on with. */

import type { ContinuedSession, RunChanges } from '@svc/capsule/launch/running-capsule.ts';
import { type SessionPlaces, withJournal, type WorkspaceOption } from '@svc/record/sessions/recorded-sessions.ts';
import { isSessionId, type SessionId } from '@svc/protocol/ids.ts';
import type { Message } from '@svc/session/model/driver.ts';
import { recordedConversation } from '@svc/session/replay/recorded-conversation.ts';

/** So many sessions without a word of their own may stand between this one and the conversation. */
const mostPassed = 100;

/** The same changes, with the conversation of the session before. Throws as `withJournal` and `recordedConversation` do. */
export async function goesOn(
  changes: RunChanges,
  session: SessionId,
  { places, manifest }: WorkspaceOption & { readonly places: SessionPlaces },
): Promise<RunChanges> {
  return {
    ...changes,
    settle: (given) => {
      const settled = changes.settle(given);
      return { ...settled, lifecycle: { ...settled.lifecycle, conversation: 'threaded' } };
    },
    continues: await continuedSession(places, { manifest }, session),
  };
}

/** Its conversation, or that of the session that it goes on with itself. Throws as `withJournal` and `recordedConversation` do. */
async function continuedSession(
  places: SessionPlaces,
  options: WorkspaceOption,
  session: SessionId,
): Promise<ContinuedSession> {
  let wanted: SessionId = session;
  const added: Message[] = [];
  for (let passed = 0; passed < mostPassed; passed += 1) {
    const found = await withJournal(places, wanted, options, ({ reader, open }) => ({
      conversation: recordedConversation(reader),
      before: open.continues ?? '',
    }));
    const { messages = [], model = null } = found.conversation ?? {};
    added.unshift(...messages);
    if (model !== null) return { session, messages: added, model };
    if (!isSessionId(found.before)) break;
    wanted = found.before;
  }
  return { session, messages: added, model: null };
}
