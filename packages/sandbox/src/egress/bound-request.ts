/** Serves one request to a host that is granted with rules or a credential: what is held of it, its key, and its answer. */

import type { ClientRequest } from 'node:http';
import type { Socket } from 'node:net';

import type { AnswerGuard, AskedRequest, BoundDecision, BoundHost } from '@svc/kit/keys/bound-host.ts';
import { heldRequest } from '@svc/kit/keys/held-request.ts';
import { destinationOf, formatDestination } from '@svc/kit/net/network-destination.ts';
import type { EgressDecision, EgressRules } from './egress-rules.ts';
import { type ForwardEnd, forwardRequest } from './forward-request.ts';
import { HeldBody } from './held-body.ts';
import { headerValues, type ProxyRefusal, refuse, type RequestHead, upstreamHeaders } from './message-heads.ts';
import type { SocketReader } from './socket-reader.ts';

interface BoundServing {
  readonly head: RequestHead;
  readonly host: BoundHost;
  readonly rules: EgressRules;
  readonly reader: SocketReader;
  readonly client: Socket;
  readonly gone: AbortSignal;
}

const maxResponseHeadBytes = 64 * 1024;
/** `TRACE` gives back what the host put in. */
const refusedMethods: ReadonlySet<string> = new Set(['CONNECT', 'TRACE']);

/** Never rejects. Each decision is reported with method, path and status, and never with a header. */
export async function serveBound(serving: BoundServing): Promise<ForwardEnd> {
  const { head, reader, client, rules } = serving;
  if (rules.bound === null) throw new Error('there is no such host');
  const held = new HeldBody({ head, reader, client, network: rules.bound, limits: rules.limits });
  try {
    return await serveHolding(serving, held);
  } finally {
    held.release();
  }
}

async function serveHolding(serving: BoundServing, held: HeldBody): Promise<ForwardEnd> {
  const { head, host, rules, reader, client, gone } = serving;
  const url = new URL(host.origin);
  const destination = destinationOf(url);
  if (destination === undefined) throw new Error('there is no such host');
  const [path = ''] = head.target.split('?', 1);
  const about = { destination: formatDestination(destination), method: head.method, path } as const;
  const refused = (reason: string, rule?: string): void =>
    rules.onDecision({ ...about, verdict: 'refused', reason, ...(rule === undefined ? {} : { rule }) });
  const [named = ''] = headerValues(head.headers, 'host');
  if (named.toLowerCase() !== url.host && named.toLowerCase() !== `${url.hostname}:${destination.port}`) {
    refused('The Host header names another server.');
    return refuse(421, 'The Host header names another server.');
  }
  if (!head.target.startsWith('/') || refusedMethods.has(head.method)) {
    refused('A request for a path was expected.');
    return refuse(400, 'A request for a path was expected.');
  }
  if (headerValues(head.headers, 'upgrade').length > 0) {
    const text = `${host.origin} is reached by requests alone: another protocol cannot be held to what is granted.`;
    refused(text);
    return refuse(501, text);
  }
  const begun = await beginServing(serving, { url, held });
  if (begun.kind === 'refused') {
    refused(begun.reason, begun.rule);
    return refuse(begun.status ?? 403, begun.reason);
  }
  const { sent, framing, keyed, guard } = begun;
  const request = startRequest(serving, sent, url);
  const end = (): void => void request.destroy();
  gone.addEventListener('abort', end);
  if (gone.aborted) end();
  let seen: Pick<EgressDecision, 'status' | 'cut'> = {};
  const forwarded = await forwardRequest({
    head: { ...head, framing },
    reader,
    client,
    request,
    guard,
    isKept: true,
    onAnswer: (answer) => (seen = { ...seen, ...answer }),
  });
  gone.removeEventListener('abort', end);
  if (seen.cut !== undefined) refused(`${seen.cut}.`, guard?.rule);
  else if (seen.status === undefined && !gone.aborted)
    rules.onDecision({
      ...about,
      verdict: 'failed',
      reason: forwarded.kind === 'refused' ? forwarded.text : 'It gave no answer.',
    });
  else rules.onDecision({ ...about, verdict: 'allowed', reason: null, keyed, ...seen });
  return forwarded;
}

type Begun =
  | {
      readonly kind: 'begun';
      /** With every header that it goes out with. */
      readonly sent: AskedRequest;
      /** The framing of the body as it is still to be read. */
      readonly framing: RequestHead['framing'];
      readonly keyed: boolean;
      readonly guard: AnswerGuard | null;
    }
  | NotBegun;
interface NotBegun {
  readonly kind: 'refused';
  readonly reason: string;
  readonly rule?: string;
  readonly status?: ProxyRefusal['status'];
}
type Permitted = Extract<BoundDecision, { readonly kind: 'permitted' }>;

/** Decides, signs, and begins the search of the answer. Where any of it fails, whatever the reason, the request does not go out. */
async function beginServing(
  serving: BoundServing,
  { url, held }: { readonly url: URL; readonly held: HeldBody },
): Promise<Begun> {
  const { host, head, rules } = serving;
  const { method, target } = head;
  try {
    const decision = host.decide({ method, target, headers: head.headers });
    if (decision.kind === 'refused') return decision;
    const { signer, keyed } = decision;
    const asks = decision.asks !== null && rules.requests?.asks(decision.asks) !== false ? decision.asks : null;
    const whole = asks === null ? 'it does not say their hash in x-amz-content-sha256' : `a person is asked (${asks})`;
    const read = asks !== null || signer?.needsBody === true ? await held.read(whole) : null;
    if (read?.kind === 'refused') {
      const reason = `A request to ${host.origin} is refused: ${read.why}.`;
      return { kind: 'refused', status: read.status, reason, rule: asks ?? signingRule };
    }
    const body = read?.body ?? noBytes;
    const reason = asks === null ? null : await unapproved(serving, { rule: asks, body, unkeyed: decision.unkeyed });
    if (reason !== null) return { kind: 'refused', reason, rule: asks ?? '' };
    const framing = read === null ? head.framing : ({ kind: 'length', bytes: read.body.length } as const);
    const headers = upstreamHeaders(
      { ...head, headers: plainHeaders(decision, host), framing },
      url.host,
      'keep-alive',
    );
    const added = (await signer?.sign({ method, target, headers }, body)) ?? { lines: [] };
    if ('fault' in added)
      return { kind: 'refused', status: 502, reason: `A request to ${host.origin} ${added.fault}.`, rule: signingRule };
    const sent = { method, target, headers: [...headers, ...added.lines] };
    return { kind: 'begun', sent, framing, keyed, guard: host.openGuard() };
  } catch {
    return {
      kind: 'refused',
      reason: `A request to ${host.origin} is refused: it could not be held to what is granted.`,
    };
  }
}

/** Why a request may not go out that a person has to approve; null once one has. */
async function unapproved(
  { host: { origin }, head, rules: { requests, limits }, gone }: BoundServing,
  { rule, body, unkeyed }: { readonly rule: string; readonly body: Buffer } & Pick<Permitted, 'unkeyed'>,
): Promise<string | null> {
  const { method, target } = head;
  const what = `A request ${method} to ${origin}`;
  if (requests === undefined)
    return `${what} is refused: a person has to approve it (${rule}), and no call of a task makes it.`;
  const held = AbortSignal.any([gone, AbortSignal.timeout(limits.askMs)]);
  // A header that `Connection` names is not sent, so a person is not shown it.
  const headers = upstreamHeaders({ ...head, headers: unkeyed }, new URL(origin).host);
  const verdict = await requests.judge(heldRequest({ origin, method, target, headers }, body), held);
  return verdict.kind === 'proceed' ? null : `${what} ${verdict.reason} (${rule}).`;
}

function plainHeaders({ headers }: Permitted, { isGuarded }: BoundHost): Permitted['headers'] {
  return isGuarded
    ? [
        ...headers.filter(([name]) => name.toLowerCase() !== 'accept-encoding'),
        ['Accept-Encoding', 'identity'] as const,
      ]
    : headers;
}

const noBytes: Buffer = Buffer.alloc(0);
const signingRule = 'capabilities.network.allow[].credential';

function startRequest({ rules, client }: BoundServing, sent: AskedRequest, url: URL): ClientRequest {
  const { bound, limits } = rules;
  if (bound === null) throw new Error('there is no such host');
  const request = bound.send(url, {
    method: sent.method,
    path: sent.target,
    headers: sent.headers.flat(),
    setHost: false,
    maxHeaderSize: maxResponseHeadBytes,
    insecureHTTPParser: false,
  });
  request.setTimeout(limits.idleMs, () =>
    request.destroy(Object.assign(new Error('nothing has passed for too long'), { code: 'ETIMEDOUT' })),
  );
  request.on('socket', (socket) => {
    const destination = destinationOf(url);
    if (!request.reusedSocket && destination !== undefined && !client.destroyed)
      rules.onConnection?.(destination, socket);
  });
  return request;
}

/** The host behind a gateway, and the request as it is made there; null for any other request. */
export function gatewayRequest(
  head: RequestHead,
  { bound }: Pick<EgressRules, 'bound'>,
): { readonly head: RequestHead; readonly host: BoundHost } | null {
  if (bound === null || head.method === 'CONNECT') return null;
  // A program may ask straight, or through its proxy.
  const [, authority, whole] = /^http:\/\/([^/?#]*)(\/[^#]*)$/i.exec(head.target) ?? [];
  const [named = ''] = authority === undefined ? headerValues(head.headers, 'host') : [authority];
  if (![`127.0.0.1:${bound.port}`, `localhost:${bound.port}`].includes(named.toLowerCase())) return null;
  const [, name = '', rest = ''] = /^\/([a-z0-9-]+)(\/.*)?$/.exec(whole ?? head.target) ?? [];
  const origin = bound.gateways.get(name);
  const host = origin === undefined ? null : bound.hosts(origin);
  if (host === null) return null;
  const headers = head.headers.map(([each, value]) =>
    each.toLowerCase() === 'host' ? ([each, new URL(host.origin).host] as const) : ([each, value] as const),
  );
  return { host, head: { ...head, target: rest === '' ? '/' : rest, headers } };
}
