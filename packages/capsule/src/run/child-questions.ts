/** Connects the questions of children to their session, to its tasks and to its own parent. */

import { raise } from '@svc/kit/diagnostics/diagnostic.ts';
import { systemClock } from '@svc/kit/system-clock.ts';
import { PassedQuestions, type PassedQuestionsDeps } from '@svc/session/approvals/passed-questions.ts';
import { offersOf } from '@svc/session/approvals/shown-offers.ts';
import type { ParentLine } from '@svc/session/delegation/parent-line.ts';
import type { Session } from '@svc/session/session.ts';
import type { OpenSessionRequest } from '../launch/open-session-request.ts';

interface AskedSession extends Pick<PassedQuestionsDeps, 'log' | 'redact' | 'onLost'> {
  readonly session: Session;
  /** Is null in a session that a person has started. */
  readonly line: ParentLine | null;
  readonly unattended: () => Promise<string | null>;
}

export function questionsOf(
  { launch }: OpenSessionRequest,
  { session, line, unattended, ...parts }: AskedSession,
): PassedQuestions {
  const { board } = session;
  const isHeld = line !== null || launch.holdsPrograms;
  return new PassedQuestions({
    ...parts,
    up: line,
    // Programs that nothing holds read the key with which a person answers.
    whyUnattended: isHeld ? unattended : async () => `nothing holds the programs of ${launch.loaded.manifest.name}`,
    submit: ({ taskId, contextId, conversation }, passed) => {
      const { kind, task } = board.deliver({
        text: `${passed.path.join(' > ')} asks whether a call may run`,
        origin: 'peer',
        trust: 'untrusted',
        contextId,
        conversation,
        // Who gave the task that delegated is shown what comes of it.
        sender: senderOf(board.find(taskId)?.sender?.principal),
        command: 'passed',
        passed,
      });
      return kind === 'accepted' ? task : null;
    },
    offer: offersOf(session),
    cancel: (task) => void board.cancel(task).catch(raise),
    clock: systemClock,
  });
}

function senderOf(principal: string | undefined): { principal: string; tags: object } | null {
  return principal === undefined ? null : { principal, tags: {} };
}
