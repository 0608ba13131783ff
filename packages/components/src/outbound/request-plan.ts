/** Decides whether a component may make a request, and what goes on the wire for it. */

import type { Secret } from '@svc/kit/diagnostics/secret.ts';
import type { AskedRequest, BoundHost, RequestJudge, RequestSigner } from '@svc/kit/keys/bound-host.ts';
import { isHeaderValue, isHttpToken } from '@svc/protocol/header-syntax.ts';
import type { ComponentGrants } from '../component.ts';
import {
  type HttpErrorCode,
  headerSectionBytes,
  isMethod,
  isPathWithQuery,
  largestHeaderSection,
  type RequestBodyStart,
  type RequestHead,
} from './remote-messages.ts';

export type HttpGrants = Pick<
  ComponentGrants,
  'mayReach' | 'endpointOrigin' | 'proxyFor' | 'credential' | 'bound' | 'onExchange' | 'onTraffic' | 'onRefused'
>;

/** What goes on the wire for a request that may be made. */
export interface RequestPlan {
  readonly kind: 'permitted';
  readonly url: URL;
  readonly method: string;
  /** In order, `host` and the framing included. Values hold one byte a character. */
  readonly headers: readonly (readonly [name: string, value: string])[];
  /** What the body has to come to; null when it is sent in chunks. */
  readonly contentLength: number | null;
  /** Text that must not occur in the body; null when anything may. */
  readonly forbiddenText: string | null;
  /** What the origin may know and must not reveal to the component; null without one. */
  readonly secret: Secret | null;
  /** Where more is held of requests to its host than the name; else null. */
  readonly bound: BoundHost | null;
  /** Adds what `headers` lack still; null where they are whole. */
  readonly signer: RequestSigner | null;
  /** The headers that a person is asked about: no key of the host is in them. */
  readonly unkeyed: AskedRequest['headers'];
  /** The rule of `approvals` by which a person has to allow it first; null where nobody is asked. */
  readonly asks: string | null;
}

export type RequestDecision =
  | RequestPlan
  /** `url` is there where it is not granted, and `rule` where its destination is. */
  | { readonly kind: 'refused'; readonly error: HttpErrorCode; readonly url?: URL; readonly rule?: string };

const authorityShape = /^(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(?::[0-9]{1,5})?$/;
const lengthShape = /^[0-9]{1,15}$/;
/** `CONNECT` would make a tunnel to a place nobody checked; `TRACE` gives back what the host put in. */
const refusedMethods: ReadonlySet<string> = new Set(['CONNECT', 'TRACE']);
const hostOwned: ReadonlySet<string> = new Set([
  'host',
  'connection',
  'proxy-authorization',
  'proxy-connection',
  'transfer-encoding',
  'expect',
  'trailer',
  'upgrade',
]);
/** A compressed answer could not be looked through. */
const asItIs = ['accept-encoding', 'identity'] as const;
const bodyExpected: ReadonlySet<string> = new Set(['POST', 'PUT', 'PATCH']);
const maxUri = 64 * 1024;
const signingRule = 'capabilities.network.allow[].credential';

/** Decides on one request: its address against the grants, its headers and framing against what HTTP allows. */
export function planRequest(head: RequestHead, body: RequestBodyStart, grants: HttpGrants): RequestDecision {
  const { method } = head;
  if (!isMethod(method) || refusedMethods.has(method.toUpperCase())) {
    return refused({ tag: 'HTTP-request-method-invalid' });
  }
  if (head.pathWithQuery.length > maxUri) return refused({ tag: 'HTTP-request-URI-too-long' });
  const url = requestUrl(head);
  if (url === null) return refused({ tag: 'HTTP-request-URI-invalid' });
  if (!grants.mayReach(url)) return { ...refused({ tag: 'HTTP-request-denied' }), url };
  const size = headerSectionBytes(head.headers);
  if (size > largestHeaderSection) return refused({ tag: 'HTTP-request-header-section-size', val: size });
  const headers = headersOf(head);
  if (!headers.every(isSendable)) return refused({ tag: 'HTTP-protocol-error' });
  const framing = frame(method, headers, body);
  if (framing.kind === 'refused') return framing;
  const bound = grants.bound?.(url.origin) ?? null;
  const held = holdToBound(bound, url, { method, target: sentTarget(head, url), headers });
  if (held.kind === 'refused') return held;
  const keyed = withCredential(url, held.headers, grants);
  if (keyed === null) return refused({ tag: 'HTTP-request-denied' });
  const { signer, unkeyed, asks } = held;
  // What is sent piece by piece has no hash that could be signed before it.
  if (signer?.needsBody === true && !body.finished)
    return { ...refused({ tag: 'HTTP-request-denied' }), url, rule: signingRule };
  return {
    kind: 'permitted',
    url,
    method,
    headers: [['host', url.host], ...keyed.headers, ...framing.headers],
    contentLength: framing.contentLength,
    forbiddenText: keyed.forbiddenText,
    secret: keyed.secret,
    bound,
    signer,
    unkeyed,
    asks,
  };
}

/** The plan once a person has allowed it, or a refusal that says why none has. `judge` is null where no call of a session makes the request. */
export async function approvedPlan(
  plan: RequestPlan,
  { bytes, finished }: RequestBodyStart,
  judge: RequestJudge | null,
): Promise<RequestDecision> {
  const { asks: rule, url, unkeyed: headers } = plan;
  if (rule === null || judge?.asks(rule) === false) return { ...plan, asks: null };
  const refusedBecause = (why: string): RequestDecision => {
    const error = { tag: 'internal-error', val: `the request to ${url.origin} ${why} (${rule})` } as const;
    return { ...refused(error), url, rule };
  };
  if (judge === null) return refusedBecause('needs a person to approve it, and no call of a task makes it');
  const { heldRequest, maxHeldBytes } = await import('@svc/kit/keys/held-request.ts');
  if (!finished) return refusedBecause('needs a person to approve it, and does not give its body whole');
  if (bytes.length > maxHeldBytes)
    return refusedBecause(`needs a person to approve it, and its body has more than ${maxHeldBytes} bytes`);
  const asked = { origin: url.origin, method: plan.method.toUpperCase(), target: targetOf(plan), headers };
  const verdict = await judge.judge(heldRequest(asked, bytes), neverAborted);
  return verdict.kind === 'proceed' ? { ...plan, asks: null } : refusedBecause(verdict.reason);
}

/** Before any key is put in. */
function headersOf({ headers }: RequestHead): AskedRequest['headers'] {
  return headers.map(([name, value]) => [name, Buffer.from(value).toString('latin1')] as const);
}

const neverAborted = new AbortController().signal;

/** The plan with all of its headers, or a refusal that says why it has no key. */
export async function signedPlan(
  { signer, ...plan }: RequestPlan,
  { bytes }: RequestBodyStart,
): Promise<RequestDecision> {
  if (signer === null) return { ...plan, signer };
  const { method, headers } = plan;
  // As Node writes it.
  const asWritten = method.toUpperCase();
  const added = await signer.sign({ method: asWritten, target: targetOf(plan), headers }, bytes);
  if ('fault' in added) {
    const error = { tag: 'internal-error', val: `the request to ${plan.url.origin} ${added.fault}` } as const;
    return { ...refused(error), url: plan.url, rule: signingRule };
  }
  return { ...plan, headers: [...headers, ...added.lines], signer: null };
}

/** What the first line of the request has. */
export function targetOf({ url }: Pick<RequestPlan, 'url'>): string {
  return `${url.pathname}${url.search}`;
}

function requestUrl({ scheme, authority, pathWithQuery }: RequestHead): URL | null {
  if (scheme !== 'http' && scheme !== 'https') return null;
  if (!authorityShape.test(authority)) return null;
  if (pathWithQuery !== '' && !isPathWithQuery(pathWithQuery)) return null;
  const path = pathWithQuery.startsWith('/') ? pathWithQuery : `/${pathWithQuery}`;
  const text = `${scheme}://${authority}${path}`;
  return URL.canParse(text) ? new URL(text) : null;
}

function isSendable([name, value]: readonly [string, string]): boolean {
  return isHttpToken(name) && isHeaderValue(value) && !hostOwned.has(name.toLowerCase());
}

type Framing =
  | {
      readonly kind: 'framed';
      readonly headers: readonly (readonly [string, string])[];
      readonly contentLength: number | null;
    }
  | { readonly kind: 'refused'; readonly error: HttpErrorCode };

/** One length, and the right one: a server and a proxy before it must never disagree where the request ends. */
function frame(method: string, headers: readonly (readonly [string, string])[], body: RequestBodyStart): Framing {
  const declared = headers.filter(([name]) => name.toLowerCase() === 'content-length').map(([, value]) => value);
  const first = declared[0];
  if (first !== undefined) {
    const length = Number(first);
    const fits = body.finished ? body.bytes.length === length : body.bytes.length <= length;
    if (declared.length > 1 || !lengthShape.test(first) || !fits) {
      return refused({ tag: 'HTTP-request-body-size', val: BigInt(body.bytes.length) });
    }
    return { kind: 'framed', headers: [], contentLength: length };
  }
  if (!body.finished) return { kind: 'framed', headers: [['transfer-encoding', 'chunked']], contentLength: null };
  const length = body.bytes.length;
  const announced = length > 0 || bodyExpected.has(method);
  return {
    kind: 'framed',
    headers: announced ? [['content-length', String(length)]] : [],
    contentLength: length,
  };
}

type Held =
  | ({ readonly kind: 'held' } & Pick<RequestPlan, 'headers' | 'signer' | 'unkeyed' | 'asks'>)
  | Extract<RequestDecision, { readonly kind: 'refused' }>;

function holdToBound(bound: BoundHost | null, url: URL, asked: AskedRequest): Held {
  const { headers } = asked;
  if (bound === null) return { kind: 'held', headers, signer: null, unkeyed: headers, asks: null };
  const decision = bound.decide(asked);
  if (decision.kind === 'refused') return { ...refused({ tag: 'HTTP-request-denied' }), url, rule: decision.rule };
  const { signer, unkeyed, asks } = decision;
  if (!bound.isGuarded) return { kind: 'held', headers: decision.headers, signer, unkeyed, asks };
  return {
    kind: 'held',
    signer,
    unkeyed,
    asks,
    headers: [...decision.headers.filter(([name]) => name.toLowerCase() !== 'accept-encoding'), asItIs],
  };
}

/** What the first line of the request would have were it sent as it was asked for: a URL takes segments of dots away. */
function sentTarget({ pathWithQuery }: RequestHead, { pathname, search }: URL): string {
  const asked = pathWithQuery.startsWith('/') ? pathWithQuery : `/${pathWithQuery}`;
  return asked.split('?', 1)[0] === pathname ? `${pathname}${search}` : asked;
}

interface Keyed extends Pick<RequestPlan, 'headers' | 'forbiddenText' | 'secret'> {}

/** Puts the secret where its placeholder stands, for its origin alone; null when another origin is to get the placeholder. */
function withCredential(url: URL, headers: readonly (readonly [string, string])[], grants: HttpGrants): Keyed | null {
  const { credential } = grants;
  if (credential === undefined || credential.placeholder === '') return { headers, forbiddenText: null, secret: null };
  const { placeholder, secret } = credential;
  if (url.origin === credential.origin) {
    const keyed = headers.map(([name, value]) => [name, value.replaceAll(placeholder, () => secret.reveal())] as const);
    const plain = [...keyed.filter(([name]) => name.toLowerCase() !== 'accept-encoding'), asItIs];
    return keyed.every(isSendable) ? { headers: plain, forbiddenText: null, secret } : null;
  }
  const told = [url.href, decodeLoosely(url.href), ...headers.flat()];
  return told.some((text) => text.includes(placeholder)) ? null : { headers, forbiddenText: placeholder, secret: null };
}

function decodeLoosely(text: string): string {
  return text.replaceAll(/%([0-9A-Fa-f]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
}

function refused(error: HttpErrorCode): { readonly kind: 'refused'; readonly error: HttpErrorCode } {
  return { kind: 'refused', error };
}
