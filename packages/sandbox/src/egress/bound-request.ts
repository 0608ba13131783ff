/** Serves one request to a host that is granted with rules or a credential: what is held of it, its key, and its answer. */

import type { ClientRequest } from 'node:http';
import type { Socket } from 'node:net';

import type { AnswerGuard, BoundDecision, BoundHost } from '@svc/kit/keys/bound-host.ts';
import { destinationOf, formatDestination } from '@svc/kit/net/network-destination.ts';
import type { EgressDecision, EgressRules } from './egress-rules.ts';
import { type ForwardEnd, forwardRequest } from './forward-request.ts';
import { headerValues, refuse, type RequestHead, upstreamHeaders } from './message-heads.ts';
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
  const { head, host, rules, reader, client, gone } = serving;
  const url = new URL(host.origin);
  const destination = destinationOf(url);
  if (rules.bound === null || destination === undefined) throw new Error('there is no such host');
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
  const begun = beginServing(host, head);
  if (begun.kind === 'refused') {
    refused(begun.reason, begun.rule);
    return refuse(403, begun.reason);
  }
  const { decision, guard } = begun;
  const headers = host.isGuarded
    ? [
        ...decision.headers.filter(([name]) => name.toLowerCase() !== 'accept-encoding'),
        ['Accept-Encoding', 'identity'] as const,
      ]
    : decision.headers;
  const request = startRequest(serving, { ...head, headers }, url);
  const end = (): void => void request.destroy();
  gone.addEventListener('abort', end);
  if (gone.aborted) end();
  let seen: Pick<EgressDecision, 'status' | 'cut'> = {};
  const forwarded = await forwardRequest({
    head,
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
  else rules.onDecision({ ...about, verdict: 'allowed', reason: null, keyed: decision.keyed, ...seen });
  return forwarded;
}

type Begun =
  | { readonly kind: 'begun'; readonly decision: Permitted; readonly guard: AnswerGuard | null }
  | { readonly kind: 'refused'; readonly reason: string; readonly rule?: string };
type Permitted = Extract<BoundDecision, { readonly kind: 'permitted' }>;

/** Decides, and begins the search of the answer. Where either fails, whatever the reason, the request does not go out. */
function beginServing(host: BoundHost, { method, target, headers }: RequestHead): Begun {
  try {
    const decision = host.decide({ method, target, headers });
    return decision.kind === 'refused' ? decision : { kind: 'begun', decision, guard: host.openGuard() };
  } catch {
    return {
      kind: 'refused',
      reason: `A request to ${host.origin} is refused: it could not be held to what is granted.`,
    };
  }
}

function startRequest({ rules, client }: BoundServing, head: RequestHead, url: URL): ClientRequest {
  const { bound, limits } = rules;
  if (bound === null) throw new Error('there is no such host');
  const request = bound.send(url, {
    method: head.method,
    path: head.target,
    headers: upstreamHeaders(head, url.host, 'keep-alive').flat(),
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
