/** The rules for every connection of the proxy, and the log of its decisions. */

import type { Socket } from 'node:net';
import { appendFileSync } from 'node:fs';

import type { NetworkDestination } from '@svc/kit/net/network-destination.ts';
import type { ProxyFor } from '@svc/kit/net/proxy.ts';
import type { HostResolver } from '@svc/kit/net/resolver.ts';
import type { LogBudget } from '@svc/kit/log-budget.ts';
import { unlessRefused } from '@svc/kit/files/unless-refused.ts';
import type { LaunchRequest } from '../launcher.ts';
import type { BoundNetwork } from './bound-network.ts';
import type { OwnService } from './proxy-target.ts';

/** Opens a connection to an address, never to a name. */
export type Connect = (to: { readonly address: string; readonly port: number }) => Socket;

/** One decision of the proxy for the log. Holds the destination alone, and of no host a header or a body. */
export interface EgressDecision {
  /** In the spelling of `capabilities.network.allow`; null when the request named none that could be read. */
  readonly destination: string | null;
  /** `failed`: granted, but not reached. */
  readonly verdict: 'allowed' | 'refused' | 'failed';
  /** A sentence for a person; null when it was allowed. */
  readonly reason: string | null;
  /** The manifest key that refused it, where that is not the one of the destination. */
  readonly rule?: string;
  /** There where the name leads to an address at which clouds give keys to any program. */
  readonly isMetadata?: true;
  /** The method, the path without its query, and the status of a request to a host that is granted with rules or a credential. */
  readonly method?: string;
  readonly path?: string;
  readonly status?: number;
  /** Whether the key was put in. */
  readonly keyed?: boolean;
  /** Why its answer was cut, as a clause. */
  readonly cut?: string;
}

export interface EgressLimits {
  /** Limit for a request's head: from the connection's beginning for the first, from its first byte for each other. */
  readonly headMs: number;
  /** Limit for the name server's answer and the connection together. */
  readonly connectMs: number;
  /** Limit for silence in both directions. */
  readonly idleMs: number;
  /** For how long a request is held that a person is asked about, or its host. */
  readonly askMs: number;
  readonly maxConnections: number;
}

export const defaultLimits: EgressLimits = {
  headMs: 10_000,
  connectMs: 10_000,
  idleMs: 300_000,
  askMs: 60_000,
  maxConnections: 256,
};

/** What is asked about in the middle of one launch: hosts that `allow` does not name, and requests that a person has to approve. Without it both are refused. */
export type AskedInLaunch = Pick<LaunchRequest, 'mayReach' | 'requests'>;

/** The rules for every connection of a proxy. */
export interface EgressRules extends AskedInLaunch {
  readonly allow: readonly NetworkDestination[];
  readonly resolver: HostResolver;
  readonly connect: Connect;
  /** The proxy beyond which a granted host lies; all are reached straight when absent. */
  readonly proxyFor?: ProxyFor;
  readonly onDecision: (decision: EgressDecision) => void;
  /** Called with each connection to a destination; the proxy ends it. */
  readonly onConnection?: (to: NetworkDestination, socket: Socket) => void;
  readonly limits: EgressLimits;
  /** What is held of requests to some of the hosts; null where that is nothing. */
  readonly bound: BoundNetwork | null;
  /** A service of the runtime at the proxy's own address; null for a process that may not use one. */
  readonly service: OwnService | null;
}

/** A process may ask as often as it likes, and its log must not fill the disk. */
const maxLines = 10_000;

/**
 * The decisions of a proxy, a JSON line each, for an operator who wants to know what a command tried to reach. Once the log is full, a destination
 * that it does not know yet still gets its line, up to as many again; the last line then says that it is not whole.
 */
export class EgressLog {
  readonly #file: string;
  readonly #budget: LogBudget | undefined;
  readonly #seen = new Set<string>();
  #lines = 0;

  constructor(file: string, budget?: LogBudget) {
    this.#budget = budget;
    this.#file = file;
  }

  write(decision: EgressDecision): void {
    const isFull = this.#lines >= maxLines;
    const isNew = this.#isNew(decision);
    if (this.#lines > 2 * maxLines || (isFull && !isNew)) return;
    this.#lines += 1;
    this.#append(this.#lines > 2 * maxLines ? { truncated: true } : decision);
    if (this.#lines === maxLines) this.#append({ only_new_destinations_from_here: true });
  }

  #isNew({ destination, verdict }: EgressDecision): boolean {
    const key = `${verdict} ${destination}`;
    if (this.#seen.has(key) || this.#seen.size > 2 * maxLines) return false;
    this.#seen.add(key);
    return true;
  }

  /** A line that cannot be written is lost: the decision was taken, and it stands. */
  #append(line: EgressDecision | Readonly<Record<string, true>>): void {
    const text = `${JSON.stringify(line)}\n`;
    if (this.#budget?.takeWhole(Buffer.byteLength(text)) === false) return;
    unlessRefused(() => appendFileSync(this.#file, text, { mode: 0o600 }), undefined);
  }
}
