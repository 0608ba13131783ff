/** Who asks, what they may, and which tasks are theirs. */

import type { RequestHead } from '@svc/kit/http/route.ts';
import type { Answerer } from '@svc/session/stream/event-stream.ts';
import type { AskingChild } from '@svc/session/delegation/delegations-deps.ts';
import type { Task } from '@svc/session/task/task.ts';
import { type Scope, scopes } from './scopes.ts';

/** One who has shown who they are, or is on this machine where nothing needs to be shown. */
export interface Principal {
  /** `operator` showed the listener token, `token:<name>` a door token, `local` reached a listener that asks for none. */
  readonly name: string;
  /** At doors it may see the tasks of all others too. */
  readonly seesAll: boolean;
  readonly scopes: readonly Scope[];
  /** It showed the key of the session, which the user's own processes can read and no program of a capsule can. */
  readonly isPerson?: true;
  /** It showed the token of this child, which may ask for approvals and nothing else. */
  readonly child?: AskingChild;
}

export type PrincipalOf = (request: Pick<RequestHead, 'headers'>) => Principal;

/** Who runs the capsule: `operator` or `local`. */
export function ownPrincipal(name: string): Principal {
  return { name, seesAll: true, scopes };
}

/** Who shows the key of the session. */
export const personHere: Principal = { ...ownPrincipal('person'), isPerson: true };

/** The runtime of a child, which has no scope. */
export function childPrincipal(child: AskingChild): Principal {
  return { name: `child:${child.delegationId}`, seesAll: false, scopes: [], child };
}

/**
 * By what the principal may say that a call runs; null where it may not. Being on this machine is not enough, and neither is the listener token: a tool that
 * reaches the loopback interface is there too, and children are started with that token.
 */
export function answererOf({ isPerson, seesAll, scopes: held }: Principal): Answerer | null {
  if (isPerson === true) return 'terminal';
  return !seesAll && held.includes('answer') ? 'door' : null;
}

/** The server lets in only the one client that the listener knows. */
export function onlyPrincipal(name: string): PrincipalOf {
  const principal = ownPrincipal(name);
  return () => principal;
}

/** The name under which it has a share of what all clients may hold together; null for the operator, who has all that is there. */
export function shareOf(principal: Principal): string | null {
  return principal.seesAll ? null : principal.name;
}

/** Whether the principal gave the task. */
export function isOwn(principal: Principal, { sender }: Pick<Task, 'sender'>): boolean {
  return sender?.principal === principal.name;
}

/** For a principal, the task of another does not exist. */
export function maySee(principal: Principal, task: Task): boolean {
  return principal.seesAll || isOwn(principal, task);
}
