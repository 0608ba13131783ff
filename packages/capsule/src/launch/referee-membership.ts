/** Registers a session with the referee and ends its record. */

import { SessionReferee, type Unanswered } from '@svc/session/delegation/session-referee.ts';
import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import type { Redactor } from '@svc/kit/diagnostics/redactor.ts';
import type { Secret } from '@svc/kit/diagnostics/secret.ts';
import type { SessionId } from '@svc/protocol/ids.ts';
import { refereeAddress } from './launch-host.ts';

/** A session that the referee has a record of. The credential stays in this process (D2 "Authentication" 2). */
export interface RefereeMembership {
  readonly referee: SessionReferee;
  readonly credential: Secret;
  /** Ends the record. Best effort: a session is not failed because the referee is gone (D2 "`POST /deregister`"). */
  leave(outcome: 'complete' | 'failed'): Promise<void>;
}

interface JoinRequest {
  readonly sessionId: SessionId;
  readonly name: string;
  readonly version: string;
  /** What the referee approved; null for a launch that nobody delegated. */
  readonly approval: Secret | null;
  readonly refereeUrl: string | null;
  /** Takes the credential, which no output may show, out of texts. */
  readonly redactor: Redactor;
}

/** Registers the session. `E-RUN-037` when it is not admitted, `E-RUN-038` when nobody answers, `E-RUN-019` without an address. */
export async function joinReferee(request: JoinRequest): Promise<RefereeMembership> {
  const { sessionId, name, version, approval, redactor } = request;
  const referee = new SessionReferee(request.refereeUrl ?? refereeAddress(undefined));
  const answer = await referee.register({ sessionId, name, version, approval });
  if (answer.kind !== 'registered') throw notRegistered(answer, referee.url);
  const { credential } = answer;
  redactor.register(credential);
  await redactor.learnSpellings();
  return {
    referee,
    credential,
    async leave(outcome) {
      await referee.deregister({ credential, outcome });
    },
  };
}

function notRegistered(answer: Unanswered, url: string): Diagnostic {
  if (answer.kind === 'refused') {
    return new Diagnostic('E-RUN-037', `the referee at ${url} does not admit this session: ${answer.sentence}`, {
      hint: 'name the capsule with --spawn-allow of svc-referee, and publish this version where it looks: svc publish --registry local',
    });
  }
  return new Diagnostic('E-RUN-038', `the referee at ${url} cannot be asked: ${answer.reason}`, {
    hint: 'start svc-referee, or correct SVC_REFEREE_URL',
  });
}
