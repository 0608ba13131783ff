/** Where our own HTTP requests begin. Who else opens connections is named in `test/architecture.test.ts`. */

import { Agent, type ClientRequest, type IncomingMessage, request, type RequestOptions } from 'node:http';
import { Agent as SecureAgent, type AgentOptions, request as secureRequest } from 'node:https';

import type { HttpRequest, HttpResponse } from '@svc/client/http-door.ts';
import { addressFault, isMetadataHost } from './address-class.ts';
import { destinationOf } from './network-destination.ts';
import { checkedLookup, type HostResolver, systemResolver } from './resolver.ts';

const idleConnectionMs = 4_000;
const defaultResolveMs = 10_000;

/** Where connections may lead. Without one they lead wherever the system finds the host. */
interface ReachRule {
  /** Whether the grants cover a URL; asked once more with the address that a name resolved to (docs/adr/manifest-and-grants.md "One rule for addresses"). */
  readonly mayReach: (url: URL) => boolean;
  /** The one origin that is not held to the rule of addresses: the model's endpoint is where it is. */
  readonly endpointOrigin?: string;
  /** Whether names may lead into private networks; true when absent. */
  readonly mayBePrivate?: boolean;
}

interface ConnectionSettings {
  readonly reach?: ReachRule;
  /** The host's own when absent. */
  readonly resolver?: HostResolver;
  /** For the resolver's answer; 10 s when absent. */
  readonly resolveMs?: number;
  /** The way of requests that go through a proxy, which are judged by their names alone; all go straight when absent. */
  readonly proxied?: ProxiedWay;
}

/** Where requests go that do not go straight. */
interface ProxiedWay {
  /** Starts a request; null for one that goes straight. */
  readonly send: (url: URL, options: RequestOptions) => ClientRequest | null;
  readonly close: () => void;
}

/** How connections are kept: with the selection on, whatever flags Node was started with, a look-up answers all addresses and all of them are checked. */
export const keptConnections: AgentOptions = {
  keepAlive: true,
  timeout: idleConnectionMs,
  maxFreeSockets: 4,
  autoSelectFamily: true,
};

/** Starts a request: over what `createConnection` gives, with `agent`, or else over a connection of its own. */
export function startRequest(url: URL, options: RequestOptions): ClientRequest {
  // With an agent, and with `false` for one, Node would not ask `createConnection`.
  const own = options.createConnection === undefined ? { agent: false } : {};
  return (url.protocol === 'https:' ? secureRequest : request)(url, { ...own, ...options });
}

/**
 * Connections that are kept alive for a few seconds, and used again for the same scheme, host and port only. A new one goes to an address
 * that the rule permits; one that is used again needs no second look-up.
 */
export class Connections {
  readonly #http: Agent;
  /** Made for the first such request: TLS is a third of what a first request loads. */
  #https: SecureAgent | null = null;
  readonly #settings: ConnectionSettings;

  constructor(settings: ConnectionSettings = {}) {
    this.#settings = settings;
    this.#http = new Agent(keptConnections);
  }

  /** Starts a request; whether its URL is granted is the caller's question. */
  readonly send = (url: URL, options: RequestOptions): ClientRequest => {
    const proxied = this.#settings.proxied?.send(url, options) ?? null;
    if (proxied !== null) return proxied;
    const agent = url.protocol === 'https:' ? (this.#https ??= new SecureAgent(keptConnections)) : this.#http;
    return startRequest(url, { ...options, ...this.#lookup(url), agent });
  };

  #lookup(url: URL): Pick<RequestOptions, 'lookup'> {
    const { reach, resolver = systemResolver, resolveMs = defaultResolveMs } = this.#settings;
    if (reach === undefined) return {};
    return { lookup: checkedLookup({ resolver, faultOf: (address) => prohibition(url, address, reach) }, resolveMs) };
  }

  close(): void {
    this.#http.destroy();
    this.#https?.destroy();
    this.#settings.proxied?.close();
  }
}

class ProhibitedAddress extends Error {
  readonly code = 'ERR_ADDRESS_PROHIBITED';
  /** Whether clouds give keys to any program at the address. */
  readonly isMetadata: boolean;

  constructor(host: string, address: string) {
    super(`${host} may not be at ${address}`);
    this.isMetadata = isMetadataHost(address);
  }
}

function prohibition(url: URL, address: string, reach: ReachRule): ProhibitedAddress | undefined {
  if (url.origin === reach.endpointOrigin) return undefined;
  const destination = destinationOf(url);
  const port = url.port === '' ? '' : `:${url.port}`;
  // Made anew: setting the host of a URL to a text that is no host would leave the permitted one in place.
  const mayReach = ({ host }: { readonly host: string }): boolean =>
    reach.mayReach(new URL(`${url.protocol}//${host}${port}/`));
  const isPermitted =
    destination !== undefined && addressFault(mayReach, destination, address, reach.mayBePrivate) === undefined;
  return isPermitted ? undefined : new ProhibitedAddress(url.hostname, address);
}

/**
 * The head of the answer. Rejects with what is wrong with the connection, and with `ECONNRESET` where it ends without an answer: Node closes
 * one whose server would speak another protocol (101) and reports no more than that. The listener for errors stays for the life of the request.
 */
export function responseOf(asked: ClientRequest): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    asked.once('response', resolve);
    asked.on('error', reject);
    asked.once('close', () => {
      reject(Object.assign(new Error('the connection was closed without an answer'), { code: 'ECONNRESET' }));
    });
  });
}

/** A host that vanished sends no word; the kernel asks it. Silence of a busy capsule is no reason to go (D1 "Heartbeat"). */
const keepAliveMs = 30_000;

/** What stands for `fetch`: each request has a connection of its own. Rejects with the error of that connection. */
export async function ownConnection(
  url: string,
  { method, headers, body, signal }: HttpRequest,
): Promise<HttpResponse> {
  const length = body === undefined ? {} : { 'content-length': Buffer.byteLength(body) };
  const outgoing = startRequest(new URL(url), { method, signal, headers: { ...headers, ...length } });
  const response = responseOf(outgoing);
  outgoing.end(body);
  return responseFrom(await response);
}

function responseFrom(response: IncomingMessage): HttpResponse {
  response.socket.setKeepAlive(true, keepAliveMs);
  const pieces = response[Symbol.asyncIterator]() as AsyncIterator<Uint8Array, undefined>;
  return {
    status: response.statusCode ?? 0,
    headers: { get: (name) => [response.headers[name] ?? null].flat()[0] ?? null },
    body: {
      getReader: () => ({
        read: async () => {
          const { done = false, value } = await pieces.next();
          return { done, value };
        },
        cancel: async () => response.destroy(),
      }),
    },
  };
}
