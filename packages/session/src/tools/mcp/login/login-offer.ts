/** Finds where an MCP server on the web has its clients get their tokens: the Model Context Protocol, "Authorization Server Discovery". */

import type * as Sdk from '@modelcontextprotocol/client';

import { checkerWords } from '@svc/kit/diagnostics/checker-words.ts';
import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { printable, shortened } from '@svc/kit/diagnostics/printable.ts';
import { isObjectOf, isText } from '@svc/kit/guards.ts';
import { bearerFields } from '@svc/kit/http/challenges.ts';
import type { ProxyFor } from '@svc/kit/net/proxy.ts';
import { redirectTarget, type RedirectSource } from '@svc/kit/net/redirect-rule.ts';
import { version } from '@svc/kit/version.ts';
import { connectionsTo } from '../remote-server.ts';
import { askedBy, loginFetch } from './login-fetch.ts';
import { ledByServer } from './token-answer.ts';

const maxSaid = 300;
const maxScope = 2000;

const isRevoking = isObjectOf({ revocation_endpoint: isText });

export interface Asking {
  /** Is null if nothing goes through a proxy. */
  readonly proxyFor: ProxyFor | null;
  readonly signal?: AbortSignal;
}

/** Where a server has its clients get their tokens. */
export interface LoginOffer {
  readonly server: URL;
  readonly ledBy: RedirectSource;
  readonly resource: string;
  /** As the server names it. */
  readonly issuer: string;
  readonly metadata: Sdk.AuthorizationServerMetadata;
  /** Where tokens are taken back (RFC 7009); null where that is not offered. */
  readonly revocation: string | null;
  /** What the server wants; undefined where it does not say. */
  readonly scope: string | undefined;
}

/**
 * Asks the server, and then the authorization server that it names: `issuer` where that has to be one of them, else the first. `E-RUN-240` for what no
 * login may come of.
 */
export async function findOffer(server: URL, asking: Asking, wanted: string | null = null): Promise<LoginOffer> {
  const sdk = await import('@modelcontextprotocol/client');
  const { response, address } = await greeted(server, asking);
  const ledBy = ledByServer(server, address);
  const fetchFn = loginFetch({ ledBy, ...asking });
  // The library finds nothing where another scheme comes first.
  const challenge = bearerFields(response.headers.get('www-authenticate') ?? '');
  const place = challenge.get('resource_metadata') ?? '';
  const about = URL.canParse(place) ? new URL(place) : undefined;
  if (about !== undefined && about.origin !== server.origin)
    throw refused(server, `says of itself only at ${printable(about.origin)}, which is another origin`);
  const asksNobody = (error: unknown): never => {
    if (!(error instanceof Diagnostic)) throw error;
    if (response.ok) throw refused(server, 'asks nobody to log in');
    const hint = 'it may want a token: svc add mcp+<address> --auth-env NAME takes that of a variable';
    throw error.hint === undefined ? new Diagnostic(error.code, error.message, { hint }) : error;
  };
  const own = await understood(server, () =>
    sdk.discoverOAuthProtectedResourceMetadata(
      server,
      about === undefined ? {} : { resourceMetadataUrl: about },
      fetchFn,
    ),
  ).catch(asksNobody);
  const { resource, authorization_servers: named = [], scopes_supported: scopes } = own;
  if (!sdk.checkResourceAllowed({ requestedResource: server, configuredResource: resource }))
    throw refused(server, `says that it is ${printable(shortened(resource, maxSaid))}`);
  const issuer = wanted ?? named[0];
  if (issuer === undefined) throw refused(server, 'names no authorization server');
  if (!named.includes(issuer)) {
    const others = named.map((each) => printable(shortened(each, maxSaid))).join(', ');
    throw refused(server, `does not name the authorization server ${issuer}, but ${others || 'none'}`);
  }
  const at = redirectTarget(issuer, ledBy);
  let announced: unknown;
  const heard: Sdk.FetchLike = async (input, init) => {
    const answer = await fetchFn(input, init);
    if (answer.ok) announced = await answer.clone().json();
    return answer;
  };
  const metadata = await understood(at, () => sdk.discoverAuthorizationServerMetadata(issuer, { fetchFn: heard }));
  if (metadata === undefined) throw refused(at, 'has no metadata of an authorization server');
  // The library leaves it out of what an OpenID provider says of itself.
  const revocation =
    isRevoking(announced) && URL.canParse(announced.revocation_endpoint) ? announced.revocation_endpoint : null;
  const scope = (challenge.get('scope') ?? scopes?.join(' '))?.slice(0, maxScope);
  return { server, ledBy, resource, issuer, metadata, revocation, scope };
}

/** What a server says to somebody without a token. */
async function greeted(server: URL, { proxyFor, signal }: Asking): ReturnType<typeof askedBy> {
  const connections = await connectionsTo({ url: server, allow: [], proxyFor, mayBePrivate: true });
  const clientInfo = { name: 'svc', version };
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo };
  try {
    const answer = await askedBy(connections.send, server, {
      method: 'POST',
      headers: { accept: 'application/json, text/event-stream', 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params }),
      ...(signal === undefined ? {} : { signal }),
    });
    return (proxyFor?.(server) ?? null) === null ? answer : { ...answer, address: null };
  } finally {
    connections.close();
  }
}

/** Errors of the library are about what it was sent. */
export async function understood<T>(asked: URL, ask: () => Promise<T>): Promise<T> {
  try {
    return await ask();
  } catch (error) {
    if (error instanceof Diagnostic || !(error instanceof Error)) throw error;
    const words = checkerWords(error.message) ?? error.message;
    throw refused(asked, `answered what no login comes of: ${printable(shortened(words, maxSaid))}`);
  }
}

/** `E-RUN-240` about what was asked. */
export function refused({ origin, pathname }: URL, what: string, hint?: string): Diagnostic {
  return new Diagnostic(
    'E-RUN-240',
    `${origin}${pathname === '/' ? '' : pathname} ${what}`,
    hint === undefined ? {} : { hint },
  );
}
