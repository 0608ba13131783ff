import { Agent as HttpAgent, request as requestHttp } from 'node:http';
import { Agent as HttpsAgent, request as requestHttps } from 'node:https';

import { addressFault } from '@svc/kit/net/address-rule.ts';
import { destinationOf } from '@svc/kit/net/network-coverage.ts';
import { checkedLookup, type HostResolver, systemResolver } from '@svc/kit/net/resolver.ts';
import type { SendRequest } from './outbound-exchange.ts';
import type { HttpGrants } from './request-plan.ts';

const idleConnectionMs = 4_000;
const defaultResolveMs = 10_000;

/** What every connection of a component is held to. */
export interface ConnectionRules {
  readonly grants: HttpGrants;
  /** The host's own when absent. */
  readonly resolver?: HostResolver;
  /** For the resolver's answer; 10 s when absent. */
  readonly resolveMs?: number;
}

/**
 * The connections of one component. A new one goes to a checked address of its origin; one that is kept alive is used again
 * for the same scheme, host and port only, and needs no second look-up.
 */
export class Connections {
  readonly #http: HttpAgent;
  readonly #https: HttpsAgent;
  readonly #rules: ConnectionRules;

  constructor(rules: ConnectionRules) {
    this.#rules = rules;
    // With the selection on, whatever Node was told at its start, a look-up answers all addresses and all of them are checked.
    const options = { keepAlive: true, timeout: idleConnectionMs, maxFreeSockets: 4, autoSelectFamily: true };
    this.#http = new HttpAgent(options);
    this.#https = new HttpsAgent(options);
  }

  /** Starts a request whose URL the grants permit. */
  readonly send: SendRequest = (url, options) => {
    const { grants, resolver = systemResolver, resolveMs = defaultResolveMs } = this.#rules;
    const target = {
      ...options,
      hostname: url.hostname.replace(/^\[(.*)\]$/, '$1'),
      port: url.port,
      lookup: checkedLookup({ resolver, faultOf: (address) => prohibition(url, address, grants), resolveMs }),
    };
    return url.protocol === 'https:'
      ? requestHttps({ ...target, agent: this.#https })
      : requestHttp({ ...target, agent: this.#http });
  };

  close(): void {
    this.#http.destroy();
    this.#https.destroy();
  }
}

class ProhibitedAddress extends Error {
  readonly code = 'ERR_ADDRESS_PROHIBITED';
}

/** The endpoint is where it is; any other host is held to the rule of addresses. */
function prohibition(url: URL, address: string, grants: HttpGrants): ProhibitedAddress | undefined {
  if (url.origin === grants.endpointOrigin) return undefined;
  const destination = destinationOf(url);
  const port = url.port === '' ? '' : `:${url.port}`;
  // Made anew: a URL whose host is set to what is none keeps the one it had, which is permitted.
  const mayReach = ({ host }: { readonly host: string }): boolean =>
    grants.mayReach(new URL(`${url.protocol}//${host}${port}/`));
  const isPermitted = destination !== undefined && addressFault({ mayReach, destination, address }) === undefined;
  return isPermitted ? undefined : new ProhibitedAddress(`${url.hostname} may not be at ${address}`);
}
