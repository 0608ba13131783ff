/** Who asks at a door, and which tasks are theirs. */

import type { RequestHead } from '@svc/kit/http/route.ts';
import type { Task } from '../../session/task.ts';

/** One who has shown who they are, or is on this machine where nothing needs to be shown. */
export interface Principal {
  readonly name: string;
  /** It may see the tasks of all others too. */
  readonly seesAll: boolean;
}

/** `operator` showed the listener token, `local` reached a listener that asks for none: both are who runs the capsule. */
export type PrincipalOf = (request: Pick<RequestHead, 'headers'>) => Principal;

/** Everybody whom the server lets in is the one whom the listener knows. */
export function onlyPrincipal(name: string): PrincipalOf {
  const principal = { name, seesAll: true };
  return () => principal;
}

/** A task of another is not there, as far as a principal is told. */
export function maySee(principal: Principal, { sender }: Task): boolean {
  return principal.seesAll || sender?.principal === principal.name;
}
