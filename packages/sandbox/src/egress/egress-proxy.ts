/** The proxy through which contained processes reach the network, and nothing else: it serves the requests of each connection, or the tunnel it asks for. */

import { request as nodeRequest } from 'node:http';
import type { Socket } from 'node:net';

import type { BoundHost } from '@svc/kit/keys/bound-host.ts';
import type { NetworkDestination } from '@svc/kit/net/network-destination.ts';
import type { ProxyFor } from '@svc/kit/net/proxy.ts';
import type { HostResolver } from '@svc/kit/net/resolver.ts';
import type { BoundNetwork } from './bound-network.ts';
import {
  type AskedInLaunch,
  type EgressRules,
  defaultLimits,
  type EgressDecision,
  type EgressLimits,
  type Connect,
} from './egress-rules.ts';
import { type ForwardEnd, forwardRequest } from './forward-request.ts';
import { openService, openUpstream, connectDirectly } from './open-upstream.ts';
import { ownServiceTarget, parseTarget, type ProxyTarget, type OwnService } from './proxy-target.ts';
import {
  parseRequestHead,
  type RequestHead,
  encodeRefusal,
  refuse,
  type ProxyRefusal,
  upstreamHeaders,
} from './message-heads.ts';
import { SocketReader } from './socket-reader.ts';

/** Nothing has passed for too long. */
class IdleUpstream extends Error {
  readonly code = 'ETIMEDOUT';
}

const lingerMs = 2_000;
const maxResponseHeadBytes = 64 * 1024;
const established = 'HTTP/1.1 200 Connection established\r\n\r\n';

/**
 * One connection of a contained program. Its requests are served one after another: the next is not looked at before the
 * one before has been answered whole, and each is decided on its own.
 */
class ProxyConnection {
  readonly #client: Socket;
  readonly #rules: EgressRules;
  readonly #reader: SocketReader;
  readonly #gone = new AbortController();
  /** The host that a client takes this for, whose TLS was opened; null where it knows that this is a proxy. */
  readonly #host: BoundHost | null;
  #headTimer: NodeJS.Timeout | undefined;

  constructor(client: Socket, rules: EgressRules, host: BoundHost | null = null) {
    this.#client = client;
    this.#rules = rules;
    this.#host = host;
    this.#reader = new SocketReader(client);
    client.once('close', () => this.#gone.abort());
    client.on('timeout', () => client.destroy());
  }

  /** Settles once the connection is over. Never rejects. */
  async serve(): Promise<void> {
    this.#limitHead();
    if (this.#rules.bound !== null && this.#host === null && (await this.#reader.beginsTls()))
      return this.#serveTls(null);
    while (!this.#client.destroyed) {
      const head = await this.#nextHead();
      if (head === null) return;
      if (head.kind === 'refused') {
        this.#refuseUnread(head);
        return;
      }
      const bound = await this.#serveBound(head);
      if (bound === 'next') continue;
      if (bound === 'over') return;
      const { service } = this.#rules;
      const own = service === null ? null : ownServiceTarget(head, service);
      const target = own ?? parseTarget(head);
      if (target.kind === 'refused') {
        this.#refuseUnread(target);
        return;
      }
      const open = own === null ? openUpstream : openService;
      if (!(await this.#serveRequest(head, target, open))) return;
    }
  }

  /** Answers without reading anything: there are too many connections. */
  turnAway(): void {
    this.#refuseUnread(refuse(503, 'Too many connections are open at once.'));
  }

  /** The next sound head, or why it is not; null when the connection is over. */
  async #nextHead(): Promise<RequestHead | ProxyRefusal | null> {
    this.#client.setTimeout(this.#rules.limits.idleMs);
    const read = await this.#reader.readHead(() => this.#limitHead());
    clearTimeout(this.#headTimer);
    this.#headTimer = undefined;
    // Already answered: the head came too late.
    if (this.#client.destroyed || this.#client.writableEnded) return null;
    if (read.kind === 'ended') {
      this.#client.end();
      return null;
    }
    return read.kind === 'bytes' ? parseRequestHead(read.bytes) : read;
  }

  #limitHead(): void {
    this.#headTimer ??= setTimeout(() => {
      this.#refuseUnread(refuse(408, 'The head of the request did not arrive in time.'));
    }, this.#rules.limits.headMs);
  }

  /** True when the next request may follow. */
  async #serveRequest(head: RequestHead, target: ProxyTarget, open: typeof openUpstream): Promise<boolean> {
    const client = this.#client;
    // From here on the other side's time counts: no byte passes the client without passing there.
    client.setTimeout(0);
    const opening = await open(target, this.#rules, this.#gone.signal);
    if (opening.kind === 'refused') {
      this.#refuse(opening, head.method);
      return false;
    }
    const { socket: upstream, through = null } = opening;
    upstream.setTimeout(this.#rules.limits.idleMs, () => upstream.destroy(new IdleUpstream()));
    if (target.kind === 'tunnel') {
      const early = this.#reader.release();
      client.write(established);
      await tunnel(client, early, upstream);
      return false;
    }
    const end = (): void => void upstream.destroy();
    this.#gone.signal.addEventListener('abort', end);
    if (this.#gone.signal.aborted) end();
    const authorization = through?.authorization ?? null;
    const ofProxy = authorization === null ? [] : [['Proxy-Authorization', authorization]];
    const request = nodeRequest({
      method: head.method,
      path: through === null ? target.path : `http://${target.host}${target.path === '*' ? '' : target.path}`,
      headers: [...upstreamHeaders(head, target.host), ...ofProxy].flat(),
      createConnection: () => upstream,
      maxHeaderSize: maxResponseHeadBytes,
      insecureHTTPParser: false,
    });
    const forwarded = await forwardRequest({ head, reader: this.#reader, client, request });
    upstream.destroy();
    this.#gone.signal.removeEventListener('abort', end);
    return this.#goesOn(forwarded, head);
  }

  /** True when the next request may follow. */
  #goesOn(forwarded: ForwardEnd, head: RequestHead): boolean {
    switch (forwarded.kind) {
      case 'next':
        return true;
      case 'close':
        this.#linger();
        return false;
      case 'broken':
        breakOff(this.#client);
        return false;
      case 'refused':
        this.#refuse(forwarded, head.method);
        return false;
    }
  }

  /** Serves a request to a host that is granted with more than its name; `other` where it is for another. */
  async #serveBound(head: RequestHead): Promise<'next' | 'over' | 'other'> {
    const { bound } = this.#rules;
    if (bound === null) return 'other';
    const { gatewayRequest, serveBound } = await import('./bound-request.ts');
    const found =
      this.#host === null
        ? (gatewayRequest(head, this.#rules) ?? boundTarget(head, bound))
        : { head, host: this.#host };
    if (found === null) return 'other';
    this.#client.setTimeout(0);
    if (found.head.method === 'CONNECT' && this.#host === null) {
      this.#client.write(established);
      await this.#serveTls(found.host);
      return 'over';
    }
    const shared = { rules: this.#rules, reader: this.#reader, client: this.#client, gone: this.#gone.signal };
    const forwarded = await serveBound({ ...found, ...shared });
    return this.#goesOn(forwarded, head) ? 'next' : 'over';
  }

  /** Opens TLS, and serves the requests in it. */
  async #serveTls(tunnelTo: BoundHost | null): Promise<void> {
    const { bound, limits } = this.#rules;
    if (bound === null) throw new Error('nothing is held of any host');
    const early = this.#reader.release();
    clearTimeout(this.#headTimer);
    if (early.length > 0) this.#client.unshift(early);
    const { acceptTls } = await import('./bound-tls.ts');
    const opened = await acceptTls(this.#client, bound, { tunnelTo, withinMs: limits.headMs });
    if (opened === null) {
      const reason =
        'TLS could not be opened: the client names another host, or does not trust the certificate of the session.';
      this.#rules.onDecision({ destination: tunnelTo?.origin ?? null, verdict: 'refused', reason });
      return;
    }
    await new ProxyConnection(opened.socket, this.#rules, opened.host).serve();
  }

  /** A request that was refused for what it is, so that no destination was decided on. */
  #refuseUnread(refusal: ProxyRefusal): void {
    this.#rules.onDecision({ destination: null, verdict: 'refused', reason: refusal.text });
    this.#refuse(refusal, '');
  }

  #refuse(refusal: ProxyRefusal, method: string): void {
    if (this.#client.destroyed || this.#client.writableEnded) return;
    this.#client.write(encodeRefusal(refusal, method));
    this.#linger();
  }

  /** Ends our side, and lets what the client still sends run out: closing over unread bytes would take the answer with it. */
  #linger(): void {
    clearTimeout(this.#headTimer);
    const client = this.#client;
    this.#reader.release();
    if (client.destroyed) return;
    client.end();
    client.resume();
    const timer = setTimeout(() => client.destroy(), lingerMs);
    client.once('close', () => clearTimeout(timer));
  }
}

/**
 * Carries bytes both ways, each way no faster than its reader, until both ways have ended. The end of one way is passed on
 * alone; a reset or any other break resets the other side, so that a cut never looks like an end. `early` is what the client had sent before the tunnel stood. Settles when both are closed.
 */
async function tunnel(client: Socket, early: Buffer, upstream: Socket): Promise<void> {
  const closed = Promise.all([closeOf(client), closeOf(upstream)]);
  passBreak(client, upstream);
  passBreak(upstream, client);
  if (early.length > 0) upstream.write(early);
  client.pipe(upstream);
  upstream.pipe(client);
  await closed;
}

function passBreak(from: Socket, to: Socket): void {
  const pass = (): void => {
    if (from.readableEnded && from.writableFinished) return;
    breakOff(to);
  };
  if (from.destroyed) pass();
  else from.once('close', pass);
}

function closeOf(socket: Socket): Promise<void> {
  return new Promise((resolve) => {
    if (socket.closed) resolve();
    else socket.once('close', () => resolve());
  });
}

/** The host that a request names, where it is granted with more than its name; null for any other request. */
function boundTarget(
  head: RequestHead,
  bound: BoundNetwork,
): { readonly head: RequestHead; readonly host: BoundHost } | null {
  const target = parseTarget(head);
  if (target.kind === 'refused') return null;
  const { scheme, host: name, port } = target.destination;
  const host = bound.hosts(new URL(`${scheme}://${name}:${port}`).origin);
  if (host === null) return null;
  if (target.kind === 'tunnel') return { host, head };
  const headers = head.headers.filter(([each]) => each.toLowerCase() !== 'host');
  return { host, head: { ...head, target: target.path, headers: [['Host', new URL(host.origin).host], ...headers] } };
}

/** Cuts a TCP connection with a reset and nothing before it, so that its peer cannot take the cut for an end. */
export function breakOff(socket: Socket): void {
  if (socket.destroyed) return;
  // TLS has no reset of its own: its client knows by the framing of HTTP that the end is missing.
  if ('encrypted' in socket) {
    socket.destroy();
    return;
  }
  if (socket.writableEnded && !socket.writableFinished) {
    // The end is on its way, and a reset is refused until it has been sent.
    socket.destroy();
    return;
  }
  socket.resetAndDestroy();
}

interface EgressProxyOptions {
  /** `capabilities.network.allow` of the command behind the proxy. */
  readonly allow: readonly NetworkDestination[];
  readonly resolver: HostResolver;
  readonly onDecision: (decision: EgressDecision) => void;
  readonly onConnection?: (to: NetworkDestination, socket: Socket) => void;
  /** The proxy beyond which a granted host lies, which is then judged by its name alone; all are reached straight when absent. */
  readonly proxyFor?: ProxyFor;
  /** How a checked address is connected to; directly when absent. */
  readonly connect?: Connect;
  readonly limits?: Partial<EgressLimits>;
  /** What is held of requests to some of the hosts; nothing more than their names when absent. */
  readonly bound?: BoundNetwork;
  /** What the runtime itself serves to the command behind the proxy; nothing when absent. */
  readonly service?: OwnService;
}

/**
 * The one way out of a contained process without a network of its own: an HTTP/1.1 forward proxy for `CONNECT` and absolute
 * `http://` requests that reaches what the grants name and nothing else (docs/adr/manifest-and-grants.md "The way out of a sealed network"). It listens
 * nowhere: connections are handed to it.
 */
export class EgressProxy {
  readonly #rules: EgressRules;
  readonly #clients = new Set<Socket>();
  readonly #serving = new Set<Promise<void>>();
  #served = 0;
  #closed = false;

  constructor({ limits, connect = connectDirectly, service, bound, ...rules }: EgressProxyOptions) {
    this.#rules = {
      ...rules,
      connect,
      bound: bound ?? null,
      service: service ?? null,
      limits: { ...defaultLimits, ...limits },
    };
  }

  /** Serves a connection until either side ends it, and owns it from now on. `heard` gets each decision on it, and `asked` is as in `EgressRules`. */
  accept(client: Socket, heard?: EgressProxyOptions['onDecision'], asked?: AskedInLaunch): void {
    const { maxConnections } = this.#rules.limits;
    // The end of one direction is no end of the other, whatever options its listener has.
    client.allowHalfOpen = true;
    // A head and a body are written apart: the second would wait for the client to confirm the first.
    client.setNoDelay(true);
    client.on('error', () => client.destroy());
    // Twice: those that are turned away keep their socket until they have read why.
    if (this.#closed || this.#clients.size >= 2 * maxConnections) {
      client.destroy();
      return;
    }
    this.#clients.add(client);
    client.once('close', () => this.#clients.delete(client));
    const connection = new ProxyConnection(client, this.#rulesFor(heard, asked));
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

  #rulesFor(heard?: EgressProxyOptions['onDecision'], asked: AskedInLaunch = {}): EgressRules {
    const { mayReach, requests } = asked;
    const rules = {
      ...this.#rules,
      ...(mayReach === undefined ? {} : { mayReach }),
      ...(requests === undefined ? {} : { requests }),
    };
    if (heard === undefined) return rules;
    const onDecision = (decision: EgressDecision): void => {
      rules.onDecision(decision);
      heard(decision);
    };
    return { ...rules, onDecision };
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
