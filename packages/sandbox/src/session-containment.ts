/** What contains the programs of one session, and where. */

import type { Socket } from 'node:net';

import type { LogBudget } from '@svc/kit/log-budget.ts';
import type { NetworkDestination } from '@svc/kit/net/network-destination.ts';
import type { ProxyFor } from '@svc/kit/net/proxy.ts';
import type { ContainmentClass } from '@svc/protocol/containment-class.ts';
import type { EgressDecision } from './egress/egress-rules.ts';
import type { LimitHold } from './limits/held-limits.ts';
import type { ProcessGrants } from './launch/process-grants.ts';
import type { Launcher } from './launcher.ts';
import type { HostAbility } from './launch/host-ability.ts';
import type { Architecture } from './seccomp/allowed-calls.ts';
import type { OwnGroupFacts } from './own-facts.ts';

/** Where a session's processes run. */
export interface SessionPlace {
  /** The accessible workdir, links resolved. */
  readonly workdir: string;
  /** Owner-only, out of the agent's reach. */
  readonly privateDirectory: string;
  /** For all logs of the session; absent without one. */
  readonly logs?: LogBudget;
  /** Called for each decision on where a process wanted to connect, beside the log. */
  readonly onDecision?: (decision: EgressDecision) => void;
  /** Given each connection that a process was let through to. */
  readonly onConnection?: (to: NetworkDestination, socket: Socket) => void;
  /** The proxy beyond which a granted host lies; all are reached straight when absent. */
  readonly proxyFor?: ProxyFor;
}

export interface ContainmentPlace extends SessionPlace {
  /** How the session's limits are held, as `Containment.hold` has answered. Where they cannot be held so, nothing is started. */
  readonly hold: LimitHold;
}

/** The containment of one session. */
export interface SessionContainment {
  /** The door for processes with these grants, which start in their scope. */
  launcher(grants: ProcessGrants): Launcher;
  /** Frees what launches share. Processes that run are ended where a control group of the session holds them, and left running elsewhere. */
  close(): Promise<void>;
}

/** What a kernel that was tried contains processes with. */
export interface KernelContainmentParts {
  readonly helper: string;
  readonly ability: HostAbility;
  readonly architecture: Architecture;
  /** The user the process is. */
  readonly uid: number;
  /** Nothing stronger is used (`SVC_CONTAINMENT_CEILING`). */
  readonly ceiling: ContainmentClass;
  /** Looks which control groups this process may use. */
  readonly ownGroups: () => OwnGroupFacts;
}
