/** The proxy through which contained processes reach the network, and nothing else. */

import type { Socket } from 'node:net';

import type { NetworkDestination } from '@svc/kit/net/network-destination.ts';
import { connectDirectly, type Connect } from './open-upstream.ts';
import { defaultLimits, type EgressDecision, type EgressLimits, type EgressRules } from './egress-rules.ts';
import type { OwnService } from './proxy-target.ts';
import { ProxyConnection } from './proxy-connection.ts';
import type { HostResolver } from '@svc/kit/net/resolver.ts';

interface EgressProxyOptions {
  /** `capabilities.network.allow` of whoever runs behind the proxy. */
  readonly allow: readonly NetworkDestination[];
  readonly resolver: HostResolver;
  readonly onDecision: (decision: EgressDecision) => void;
  /** How a checked address is connected to; directly when absent. */
  readonly connect?: Connect;
  readonly limits?: Partial<EgressLimits>;
  /** What the runtime itself serves whoever runs behind the proxy; nothing when absent. */
  readonly service?: OwnService;
}

/**
 * The one way out of a contained process without a network of its own: an HTTP/1.1 forward proxy for `CONNECT` and absolute
 * `http://` requests that reaches what the grants name and nothing else (ADR 0032). It listens nowhere: connections
 * are handed to it.
 */
export class EgressProxy {
  readonly #rules: EgressRules;
  readonly #clients = new Set<Socket>();
  readonly #serving = new Set<Promise<void>>();
  #served = 0;
  #closed = false;

  constructor({ limits, connect = connectDirectly, service, ...rules }: EgressProxyOptions) {
    this.#rules = { ...rules, connect, service: service ?? null, limits: { ...defaultLimits, ...limits } };
  }

  /** Serves a connection until either side ends it, and owns it from now on. */
  accept(client: Socket): void {
    const { maxConnections } = this.#rules.limits;
    // The end of one direction is no end of the other, whatever the listener that accepted it was told.
    client.allowHalfOpen = true;
    client.on('error', () => client.destroy());
    // Twice: those that are turned away keep their socket until they have read why.
    if (this.#closed || this.#clients.size >= 2 * maxConnections) {
      client.destroy();
      return;
    }
    this.#clients.add(client);
    client.once('close', () => this.#clients.delete(client));
    const connection = new ProxyConnection(client, this.#rules);
    if (this.#served >= maxConnections) {
      connection.turnAway();
      return;
    }
    this.#served += 1;
    client.once('close', () => {
      this.#served -= 1;
    });
    const serving = connection.serve();
    this.#serving.add(serving);
    void serving.then(() => this.#serving.delete(serving));
  }

  /** Cuts every connection, on both sides, and takes no more. Settles once all are closed. Harmless when repeated. */
  async close(): Promise<void> {
    this.#closed = true;
    const closing = [...this.#clients].map(
      (client) => new Promise<void>((resolve) => client.once('close', () => resolve())),
    );
    for (const client of this.#clients) client.destroy();
    await Promise.all([...closing, ...this.#serving]);
  }
}
