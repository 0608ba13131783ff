/** Stands in for the delegations of a session. */

import type { DelegationDoor, OpenDelegation } from '@svc/doors/own/methods.ts';
import type { Trust } from '@svc/session/task/task.ts';
import type { ContextId } from '@svc/protocol/ids.ts';

/** Delegations that a session has open, by their ids; each is closed by its completion. */
export class OpenDelegations implements DelegationDoor {
  /** `<delegation id>: <text>` of what was completed, in order. */
  readonly completed: string[] = [];
  readonly #open: Map<string, Trust>;

  constructor(open: Readonly<Record<string, Trust>>) {
    this.#open = new Map(Object.entries(open));
  }

  /** The context that every one of them was made from. */
  static readonly contextId = 'ctx_of_the_delegation' as ContextId;

  open(id: string): OpenDelegation | null {
    const trust = this.#open.get(id);
    if (trust === undefined) return null;
    return {
      contextId: OpenDelegations.contextId,
      conversation: OpenDelegations.contextId,
      trust,
      complete: (text) => {
        this.#open.delete(id);
        this.completed.push(`${id}: ${text}`);
      },
    };
  }
}
