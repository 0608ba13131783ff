/** Decides whether a destination is granted, and connects to one of its addresses within a time. */

import { type Socket, connect } from 'node:net';

import { Diagnostic, diagnosticOf } from '@svc/kit/diagnostics/diagnostic.ts';
import { addressFault, isMetadataHost } from '@svc/kit/net/address-class.ts';
import { isCovered, formatDestination, type NetworkDestination } from '@svc/kit/net/network-destination.ts';
import { connectThrough, type Proxy, shownProxy } from '@svc/kit/net/proxy.ts';
import { networkReason } from '@svc/kit/net/network-reason.ts';
import { checkedAddresses } from '@svc/kit/net/resolver.ts';
import type { EgressDecision, EgressRules, Connect } from './egress-rules.ts';
import { refuse, type ProxyRefusal } from './message-heads.ts';
import type { ProxyTarget } from './proxy-target.ts';

type Opening =
  | {
      readonly kind: 'open';
      readonly socket: Socket;
      /** The proxy at the other end, which is to be given a plain request whole; absent where the socket leads to the destination. */
      readonly through?: Proxy;
    }
  | ProxyRefusal;

/**
 * Decides on a destination and connects to it. A name is asked for only when the grants cover it, so that a name server
 * hears of no other; every address of the answer is checked, one that is refused refuses them all; and the connection goes
 * to a checked address, never to the name. A host that a person grants meanwhile is public. Beyond a proxy the name alone decides. `gone` gives up; its answer reaches nobody.
 */
export async function openUpstream(target: ProxyTarget, rules: EgressRules, gone: AbortSignal): Promise<Opening> {
  const { destination } = target;
  const name = formatDestination(destination);
  const decided = (
    verdict: EgressDecision['verdict'],
    reason: string | null,
    more?: Pick<EgressDecision, 'isMetadata'>,
  ): void => rules.onDecision({ destination: name, verdict, reason, ...more });
  const isNamed = isCovered(rules.allow, destination);
  if (!isNamed) {
    const answer = await asked(destination, rules, gone);
    if (answer !== 'granted') {
      const reason = answer === 'late' ? lateAnswer(name) : notGranted(target, name);
      decided('refused', reason);
      return refuse(403, reason);
    }
  }
  const settled = (opening: Opening): Opening => {
    if (opening.kind !== 'open' && !gone.aborted) decided('failed', opening.text);
    else decided('allowed', null);
    if (opening.kind === 'open') rules.onConnection?.(destination, opening.socket);
    return opening;
  };
  const signal = AbortSignal.any([gone, AbortSignal.timeout(rules.limits.connectMs)]);
  let proxy: Proxy | null = null;
  const unusable = diagnosticOf(() => (proxy = rules.proxyFor?.(new URL(name)) ?? null));
  if (unusable !== null) return settled(refuse(502, `${name} cannot be reached: ${unusable.message}.`));
  if (proxy !== null) return settled(await openBeyond(target, { proxy, connect: rules.connect, signal }));
  const { allow, resolver, connect } = rules;
  const mayReach = (inner: NetworkDestination): boolean => isCovered(allow, inner);
  const faultOf = (address: string): AddressFault | undefined => {
    const words = addressFault(mayReach, destination, address, isNamed);
    return words === undefined ? undefined : { words, ...(isMetadataHost(address) ? { isMetadata: true } : {}) };
  };
  const checked = await checkedAddresses(destination.host, { resolver, faultOf }, signal);
  if (checked.kind === 'failed') {
    const reason = `${destination.host} cannot be reached: ${networkReason({ code: checked.reason })}.`;
    decided('failed', reason);
    return signal.aborted ? tooSlow(name) : refuse(502, reason);
  }
  if (checked.kind === 'refused') {
    const { words, ...more } = checked.fault;
    const reason = `${destination.host} is refused: it ${words}, ${isNamed ? namedElsewhere : grantedElsewhere}.`;
    decided('refused', reason, more);
    return refuse(403, reason);
  }
  const { addresses } = checked;
  const dialed = await dial({ addresses, port: destination.port, connect, signal });
  if (dialed.kind === 'connected') return settled({ kind: 'open', socket: dialed.socket });
  return settled(
    signal.aborted
      ? tooSlow(name)
      : refuse(502, `${name} cannot be reached: ${networkReason({ code: dialed.reason })}.`),
  );
}

const namedElsewhere = 'which capabilities.network.allow reaches only by that address';
/** A person has read a name that seemed to be public. */
const grantedElsewhere = 'and a host that a person grants meanwhile is reached at public addresses alone';

interface AddressFault extends Pick<EgressDecision, 'isMetadata'> {
  /** A clause. */
  readonly words: string;
}

interface BeyondRequest {
  readonly proxy: Proxy;
  readonly connect: Connect;
  readonly signal: AbortSignal;
}

/** Has a proxy connect to a granted destination, of whose address nothing is known here. A plain request is for the proxy to pass on. */
async function openBeyond(target: ProxyTarget, { proxy, connect, signal }: BeyondRequest): Promise<Opening> {
  const { destination } = target;
  const name = formatDestination(destination);
  if (target.kind === 'request') {
    const dialed = await dial({ addresses: [proxy.host], port: proxy.port, connect, signal });
    if (dialed.kind === 'connected') return { kind: 'open', socket: dialed.socket, through: proxy };
    if (signal.aborted) return tooSlow(name);
    const why = `the proxy ${shownProxy(proxy)}: ${networkReason({ code: dialed.reason })}`;
    return refuse(502, `${name} cannot be reached: ${why}.`);
  }
  try {
    const place = `${destination.host}:${destination.port}`;
    return { kind: 'open', socket: await connectThrough(place, proxy, { signal, allowHalfOpen: true }) };
  } catch (error) {
    if (signal.aborted) return tooSlow(name);
    if (!(error instanceof Diagnostic)) throw error;
    return refuse(502, `${name} cannot be reached: ${error.message}.`);
  }
}

/** Connects to what the runtime serves behind the proxy's own address. That is no destination, and so there is nothing to decide. */
export async function openService(
  { destination: { host, port } }: ProxyTarget,
  { connect }: EgressRules,
  signal: AbortSignal,
): Promise<Opening> {
  const dialed = await dial({ addresses: [host], port, connect, signal });
  if (dialed.kind === 'connected') return { kind: 'open', socket: dialed.socket };
  return refuse(502, `The service at this address cannot be reached: ${networkReason({ code: dialed.reason })}.`);
}

/** `late`: nobody has answered as long as the request was held. */
async function asked(
  destination: NetworkDestination,
  { mayReach, limits: { askMs } }: EgressRules,
  gone: AbortSignal,
): Promise<'granted' | 'refused' | 'late'> {
  if (mayReach === undefined) return 'refused';
  const held = new AbortController();
  const end = (): void => held.abort();
  const timer = setTimeout(end, askMs);
  gone.addEventListener('abort', end);
  if (gone.aborted) end();
  const late = new Promise<'late'>((resolve) => {
    held.signal.addEventListener('abort', () => resolve('late'), { once: true });
    if (held.signal.aborted) resolve('late');
  });
  const answered = mayReach(destination, held.signal).then((granted) => (granted ? ('granted' as const) : 'refused'));
  const answer = await Promise.race([answered, late]);
  clearTimeout(timer);
  gone.removeEventListener('abort', end);
  end();
  return answer;
}

function lateAnswer(name: string): string {
  return `${name} is refused for now: a person has not answered yet whether it is granted.`;
}

function notGranted({ kind }: ProxyTarget, name: string): string {
  const how = kind === 'tunnel' ? 'A tunnel counts as https://.' : 'A request without a tunnel counts as http://.';
  return `${name} is refused: capabilities.network.allow does not name it. ${how}`;
}

function tooSlow(name: string): ProxyRefusal {
  return refuse(504, `${name} did not answer in time.`);
}

/** Half-open, so that the end of one direction can be passed on alone. */
export const connectDirectly: Connect = ({ address, port }) =>
  connect({ host: address, port, allowHalfOpen: true, noDelay: true });

type Dialed =
  | { readonly kind: 'connected'; readonly socket: Socket }
  /** `reason` is the system's word for it: `ECONNREFUSED`; of the last address that was tried. */
  | { readonly kind: 'failed'; readonly reason: string };

interface DialRequest {
  readonly addresses: readonly string[];
  readonly port: number;
  readonly connect: Connect;
  readonly signal: AbortSignal;
}

const headStartMs = 250;

/**
 * Connects to the first of the addresses that answers. The next is tried when one fails or keeps silent for 250 ms, so an
 * address family that leads nowhere costs little. All but the winner are closed; so are all when the signal says so.
 */
export function dial(request: DialRequest): Promise<Dialed> {
  return new Promise((resolve) => new Dial(request, resolve).next());
}

class Dial {
  readonly #request: DialRequest;
  readonly #resolve: (dialed: Dialed) => void;
  readonly #waiting: string[];
  readonly #attempts = new Set<Socket>();
  #headStart: NodeJS.Timeout | undefined;
  #reason = 'ENOTFOUND';

  constructor(request: DialRequest, resolve: (dialed: Dialed) => void) {
    this.#request = request;
    this.#resolve = resolve;
    this.#waiting = [...request.addresses];
    request.signal.addEventListener('abort', this.#abort);
  }

  next(): void {
    clearTimeout(this.#headStart);
    if (this.#request.signal.aborted) {
      this.#abort();
      return;
    }
    const address = this.#waiting.shift();
    if (address !== undefined) this.#try(address);
    else if (this.#attempts.size === 0) this.#settle({ kind: 'failed', reason: this.#reason });
  }

  #try(address: string): void {
    const socket = this.#request.connect({ address, port: this.#request.port });
    this.#attempts.add(socket);
    // Stays for the life of the socket: `close` says what an error means later.
    socket.on('error', ({ code }: NodeJS.ErrnoException) => {
      this.#reason = code ?? 'unknown';
      socket.destroy();
      if (this.#attempts.delete(socket)) this.next();
    });
    socket.once('connect', () => {
      if (this.#attempts.delete(socket)) this.#settle({ kind: 'connected', socket });
    });
    if (this.#waiting.length > 0) this.#headStart = setTimeout(() => this.next(), headStartMs);
  }

  readonly #abort = (): void => {
    this.#settle({ kind: 'failed', reason: 'ABORTED' });
  };

  #settle(dialed: Dialed): void {
    clearTimeout(this.#headStart);
    this.#request.signal.removeEventListener('abort', this.#abort);
    this.#waiting.length = 0;
    const losers = [...this.#attempts];
    this.#attempts.clear();
    for (const socket of losers) socket.destroy();
    this.#resolve(dialed);
  }
}
