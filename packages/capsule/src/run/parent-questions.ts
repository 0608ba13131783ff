/** Asks the session of the parent for approvals, in a session that a capsule has started. */

import { systemClock } from '@svc/kit/system-clock.ts';
import type { AskedApproval } from '@svc/protocol/approval.ts';
import type { Approvals } from '@svc/session/approvals/approvals.ts';
import { ParentLine } from '@svc/session/delegation/parent-line.ts';
import type { OpenSessionRequest } from '../launch/open-session-request.ts';

/** Returns null for a session that no capsule has started, or whose parent takes no questions. */
export function parentLineOf({ request, launch }: OpenSessionRequest): ParentLine | null {
  const { askKey: key, isParentThere = () => true } = request;
  const { spawner } = launch.delegation;
  if (key === undefined || spawner === null) return null;
  launch.redactor.register(key.token);
  return new ParentLine({ url: spawner.url, key, isParentThere, clock: systemClock });
}

interface PassedUp {
  readonly asked: AskedApproval;
  /** Aborted once the question is settled, wherever its answer came from. */
  readonly settled: AbortSignal;
  readonly approvals: Approvals;
}

/** Asks, and settles the question with the answer. Rejects with the Diagnostic of what cannot be written. */
export async function passUp(line: ParentLine, { asked, settled, approvals }: PassedUp): Promise<void> {
  const { capsule: _, ...question } = asked;
  const answer = await line.ask({ ...question, below: [] }, settled);
  if (answer === null) return;
  const { by, ...given } = answer;
  const { id, digest } = asked;
  approvals.answer({ id, digest, ...given }, { principal: by, way: 'parent' });
}
