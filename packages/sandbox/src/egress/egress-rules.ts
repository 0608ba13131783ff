/** What every connection of the proxy is held to. */

import type { NetworkDestination } from '@svc/kit/net/network-destination.ts';
import type { Connect } from './open-upstream.ts';
import type { OwnService } from './proxy-target.ts';
import type { HostResolver } from '@svc/kit/net/resolver.ts';

/** One decision of the proxy, to be logged. Holds the destination alone: no path, no header, no body. */
export interface EgressDecision {
  /** As an entry of `capabilities.network.allow` would spell it; null when the request named none that could be read. */
  readonly destination: string | null;
  /** `failed`: granted, but its host has no address. */
  readonly verdict: 'allowed' | 'refused' | 'failed';
  /** A sentence for a person; null when it was allowed. */
  readonly reason: string | null;
}

export interface EgressLimits {
  /** For a request's head: from the connection's beginning for the first, from its first byte for each other. */
  readonly headMs: number;
  /** For the name server's answer and the connection together. */
  readonly connectMs: number;
  /** Without a byte in either direction. */
  readonly idleMs: number;
  readonly maxConnections: number;
}

export const defaultLimits: EgressLimits = {
  headMs: 10_000,
  connectMs: 10_000,
  idleMs: 300_000,
  maxConnections: 256,
};

/** What every connection of a proxy is held to. */
export interface EgressRules {
  readonly allow: readonly NetworkDestination[];
  readonly resolver: HostResolver;
  readonly connect: Connect;
  readonly onDecision: (decision: EgressDecision) => void;
  readonly limits: EgressLimits;
  /** Reached at the proxy's own address; null where a process is served nothing of the runtime's. */
  readonly service: OwnService | null;
}
