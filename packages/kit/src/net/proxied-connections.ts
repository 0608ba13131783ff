/** Sends requests through the proxies of this machine, and keeps connections through them for a few seconds. */

import { Agent, type ClientRequest, type RequestOptions } from 'node:http';
import { Agent as SecureAgent, type RequestOptions as SecureOptions } from 'node:https';
import { connect, type ConnectionOptions, type TLSSocket } from 'node:tls';

import { keptConnections, startRequest } from './connections.ts';
import { connectThrough, type Proxy, type ProxyFor, shownProxy } from './proxy.ts';

/**
 * Requests over TLS go through a tunnel, of which the proxy sees host and port alone; plain ones are given to the proxy whole. The names of hosts are
 * looked up by the proxy, so that nothing is known here of their addresses.
 */
export class ProxiedConnections {
  readonly #proxyFor: ProxyFor;
  /** By the proxy. */
  readonly #tunnels = new Map<string, TunnelAgent>();
  readonly #plain = new Agent(keptConnections);

  constructor(proxyFor: ProxyFor) {
    this.#proxyFor = proxyFor;
  }

  /** Starts the request; null for one that goes through no proxy. */
  readonly send = (url: URL, options: RequestOptions): ClientRequest | null => {
    const proxy = this.#proxyFor(url);
    if (proxy === null) return null;
    if (url.protocol === 'https:') return startRequest(url, { ...options, agent: this.#tunnelsOf(proxy) });
    const path = `${url.origin}${options.path ?? `${url.pathname}${url.search}`}`;
    const request = startRequest(new URL(`http://${shownProxy(proxy)}`), { ...options, path, agent: this.#plain });
    if (proxy.authorization !== null) request.setHeader('proxy-authorization', proxy.authorization);
    return request;
  };

  #tunnelsOf(proxy: Proxy): TunnelAgent {
    const name = `${proxy.authorization} ${shownProxy(proxy)}`;
    const agent = this.#tunnels.get(name) ?? new TunnelAgent(proxy);
    this.#tunnels.set(name, agent);
    return agent;
  }

  readonly close = (): void => {
    this.#plain.destroy();
    for (const agent of this.#tunnels.values()) agent.destroy();
  };
}

type Connected = NonNullable<Parameters<SecureAgent['createConnection']>[1]>;

class TunnelAgent extends SecureAgent {
  readonly #proxy: Proxy;
  readonly #ended = new AbortController();

  constructor(proxy: Proxy) {
    super(keptConnections);
    this.#proxy = proxy;
  }

  override createConnection(options: SecureOptions, connected?: Connected): undefined {
    void this.#connect(options as ConnectionOptions).then(
      (socket) => connected?.(null, socket),
      // Without a socket: the request fails with the error.
      (error: Error) => (connected as ((failure: Error) => void) | undefined)?.(error),
    );
  }

  async #connect(options: ConnectionOptions): Promise<TLSSocket> {
    const { host = '', port = 443 } = options;
    const target = `${host.includes(':') ? `[${host}]` : host}:${port}`;
    const { signal } = this.#ended;
    return connect({ ...options, socket: await connectThrough(target, this.#proxy, { signal }) });
  }

  /** Also leaves a proxy that has not answered yet, which is no connection of the agent. */
  override destroy(): void {
    this.#ended.abort();
    super.destroy();
  }
}
