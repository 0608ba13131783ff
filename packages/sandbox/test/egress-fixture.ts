import { once } from 'node:events';
import { request } from 'node:http';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { createSecureContext } from 'node:tls';

import { connectDirectly } from '../src/egress/open-upstream.ts';
import type { EgressDecision, EgressLimits } from '../src/egress/egress-rules.ts';
import { EgressProxy } from '../src/egress/egress-proxy.ts';
import type { BoundNetwork } from '../src/egress/bound-network.ts';
import type { LaunchRequest } from '../src/launcher.ts';
import type { OwnService } from '../src/egress/proxy-target.ts';
import type { ProxyFor } from '@svc/kit/net/proxy.ts';
import type { HostResolver } from '@svc/kit/net/resolver.ts';
import { parseDestination, type NetworkDestination } from '@svc/kit/net/network-destination.ts';

export interface EgressSetting extends Pick<LaunchRequest, 'mayReach' | 'requests'> {
  /** Entries as a manifest spells them. */
  readonly allow: readonly string[];
  /** What the name server answers; a name that is not here has no address. */
  readonly names?: Readonly<Record<string, readonly string[]>>;
  /** The servers of this test that stand for `address:port` elsewhere. */
  readonly routes?: Readonly<Record<string, number>>;
  readonly limits?: Partial<EgressLimits>;
  readonly resolver?: HostResolver;
  readonly service?: OwnService;
  readonly proxyFor?: ProxyFor;
  readonly bound?: BoundNetwork;
}

/** An egress proxy behind a listener of this machine, and all it decides, asks and connects to. */
export class EgressFixture {
  readonly decisions: EgressDecision[] = [];
  /** Names the resolver was asked for. */
  readonly asked: string[] = [];
  /** `address:port` of every connection that was tried. */
  readonly connects: string[] = [];
  /** The proxy's own ends, for a look at what they hold. */
  readonly clients: Socket[] = [];
  readonly upstreams: Socket[] = [];
  readonly proxy: EgressProxy;
  readonly #listener: Server;

  private constructor(setting: EgressSetting) {
    const { allow, names = {}, routes = {}, limits = {} } = setting;
    this.proxy = new EgressProxy({
      allow: allow.map(destination),
      resolver: {
        resolve: async (host) => {
          this.asked.push(host);
          if (setting.resolver !== undefined) return setting.resolver.resolve(host);
          const addresses = names[host];
          return addresses === undefined ? { kind: 'failed', reason: 'ENOTFOUND' } : { kind: 'addresses', addresses };
        },
      },
      connect: ({ address, port }) => {
        const place = `${address}:${port}`;
        this.connects.push(place);
        const route = routes[place];
        const isHere = route === undefined && (address === '::1' || address.startsWith('127.'));
        const socket = connectDirectly({
          address: isHere ? address : '127.0.0.1',
          // Nobody listens on port 1: a place without a server here refuses connections.
          port: route ?? (isHere ? port : 1),
        });
        this.upstreams.push(socket);
        return socket;
      },
      onDecision: (decision) => this.decisions.push(decision),
      limits,
      ...(setting.service === undefined ? {} : { service: setting.service }),
      ...(setting.bound === undefined ? {} : { bound: setting.bound }),
      ...(setting.proxyFor === undefined ? {} : { proxyFor: setting.proxyFor }),
    });
    this.#listener = createServer((socket) => {
      this.clients.push(socket);
      this.proxy.accept(socket, undefined, setting);
    });
  }

  static async open(setting: EgressSetting): Promise<EgressFixture> {
    const fixture = new EgressFixture(setting);
    fixture.#listener.listen({ port: 0, host: '127.0.0.1', backlog: 1024 });
    await once(fixture.#listener, 'listening');
    return fixture;
  }

  get port(): number {
    return portOf(this.#listener);
  }

  async close(): Promise<void> {
    await this.proxy.close();
    await new Promise((resolve) => this.#listener.close(resolve));
  }
}

export function destination(text: string): NetworkDestination {
  const reading = parseDestination(text);
  if (reading.kind === 'malformed') throw new Error(`${text} ${reading.reason}`);
  return reading.destination;
}

/** A TCP server on 127.0.0.1 that is handed raw connections; `received` is what each has sent so far. */
export class RawServer {
  readonly sockets: Socket[] = [];
  readonly received: string[] = [];
  readonly server: Server;

  private constructor(serve: (socket: Socket) => void) {
    this.server = createServer({ allowHalfOpen: true }, (socket) => {
      const index = this.sockets.push(socket) - 1;
      this.received.push('');
      socket.on('error', () => socket.destroy());
      socket.on('data', (piece: Buffer) => {
        this.received[index] += piece.toString('latin1');
      });
      serve(socket);
    });
  }

  static async open(serve: (socket: Socket) => void): Promise<RawServer> {
    const raw = new RawServer(serve);
    raw.server.listen(0, '127.0.0.1');
    await once(raw.server, 'listening');
    return raw;
  }

  /** A server that answers each connection with these bytes and closes, once it has read the head of a request. */
  static answering(bytes: string): Promise<RawServer> {
    return RawServer.open((socket) => {
      let seen = '';
      socket.on('data', (piece: Buffer) => {
        const before = seen.includes('\r\n\r\n');
        seen += piece.toString('latin1');
        if (!before && seen.includes('\r\n\r\n')) socket.end(Buffer.from(bytes, 'latin1'));
      });
    });
  }

  get port(): number {
    return portOf(this.server);
  }

  async close(): Promise<void> {
    for (const socket of this.sockets) socket.destroy();
    await new Promise((resolve) => this.server.close(resolve));
  }
}

export function portOf(server: Server): number {
  return (server.address() as AddressInfo).port;
}

/** The head of an absolute-form request, with the empty line. */
export function getBytes(url: string, headers: readonly string[] = []): string {
  return [`GET ${url} HTTP/1.1`, 'Host: whatever.example', ...headers, '', ''].join('\r\n');
}

export function connectBytes(authority: string): string {
  return `CONNECT ${authority} HTTP/1.1\r\nHost: ${authority}\r\n\r\n`;
}

/** The one host that `hosts` knows stands for a server of this machine on `port`. */
export function boundTo(port: number, hosts: BoundNetwork['hosts']): BoundNetwork {
  return {
    hosts,
    gateways: new Map(),
    port: 3128,
    covers: [],
    variables: {},
    contextFor: () => createSecureContext(),
    send: (_, options) => request({ ...options, host: '127.0.0.1', port, agent: false }),
  };
}
