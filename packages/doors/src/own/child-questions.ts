/** Takes what the children of a session ask it: whether a person allows a call of theirs. */

import { HttpRefusal } from '@svc/kit/http/refusal.ts';
import type { JsonObject } from '@svc/protocol/json-object.ts';
import { JsonRpcFault } from '@svc/protocol/json-rpc.ts';
import {
  encodeParentReply,
  type ParentReply,
  type ParentRequest,
  parseParentRequest,
} from '@svc/protocol/passed-question.ts';
import type { AskingChild } from '@svc/session/delegation/delegations-deps.ts';
import type { Principal } from '../callers/principal.ts';

/** The children of a session that may have questions for a person. */
export interface ChildrenDoor {
  /** Returns null for a token that no child of this session has now. */
  childOf(token: Buffer): AskingChild | null;
  hear(child: AskingChild, request: ParentRequest): Promise<ParentReply>;
}

/**
 * `approvals/ask`: gives the reply of the session to its child, held back until there is an answer, for 15 seconds at most. Throws the refusal 403 for everybody but a
 * child that this session has started, and `-32602` for what cannot be read (docs/delegation.md "Calls that a person approves").
 */
export async function hearChild(
  params: unknown,
  { principal: { child }, children }: { readonly principal: Principal; readonly children: ChildrenDoor | undefined },
): Promise<JsonObject> {
  if (child === undefined || children === undefined) {
    throw new HttpRefusal(403, 'child_missing', 'Only a capsule that this one has started asks this.');
  }
  const request = parseParentRequest(params);
  if (request === null) throw new JsonRpcFault('invalid-params', 'Invalid params: no question of a child');
  return encodeParentReply(await children.hear(child, request));
}
