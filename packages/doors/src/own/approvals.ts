/** Lists the calls of a session that wait for approval, and takes answers to them. */

import { HttpRefusal } from '@svc/kit/http/refusal.ts';
import { encodeOpenApproval, encodeSettledApproval, parseApprovalAnswer } from '@svc/protocol/approval.ts';
import type { JsonObject } from '@svc/protocol/json-object.ts';
import { JsonRpcFault } from '@svc/protocol/json-rpc.ts';
import type { Session } from '@svc/session/session.ts';
import { answererOf, type Principal } from '../callers/principal.ts';

/** `approvals/list`: what waits, with all that an answer needs. */
export function listApprovals({ approvals }: Pick<Session, 'approvals'>): JsonObject {
  return { approvals: (approvals?.list() ?? []).map(encodeOpenApproval) };
}

/**
 * `approvals/answer`: how the approval is settled now. Throws the refusal 403 for a client that may not say what runs, and the faults `-32001` for an
 * approval that does not wait, `-32050` for one that was settled, `-32051` for an answer to another call, `-32052` for one that comes by another
 * way than the manifest names. Then nothing has happened.
 */
export function answerApproval(
  params: unknown,
  {
    session: { approvals },
    principal,
  }: { readonly session: Pick<Session, 'approvals'>; readonly principal: Principal },
): JsonObject {
  const way = answererOf(principal);
  if (way === null) {
    throw new HttpRefusal(
      403,
      'approver_missing',
      'An approval is answered with svc approve, or with a door token that has the scope answer.',
    );
  }
  const parsed = parseApprovalAnswer(params);
  if (parsed.kind === 'invalid') throw new JsonRpcFault('invalid-params', `Invalid params: ${parsed.problem}`);
  const result = approvals?.answer(parsed.answer, { principal: principal.name, way }) ?? { kind: 'unknown' };
  switch (result.kind) {
    case 'settled':
      return encodeSettledApproval(result.settled);
    case 'already':
      throw new JsonRpcFault('approval-settled', undefined, encodeSettledApproval(result.settled));
    case 'elsewhere': {
      const { ways, why } = result;
      throw new JsonRpcFault('approval-elsewhere', `Approval is answered elsewhere: ${why}`, {
        answer: ways,
      });
    }
    case 'other-digest':
      throw new JsonRpcFault('approval-differs');
    case 'not-offered':
      throw new JsonRpcFault('invalid-params', 'Invalid params: option is not offered for this call');
    case 'unknown':
      throw new JsonRpcFault('approval-not-found');
  }
}
