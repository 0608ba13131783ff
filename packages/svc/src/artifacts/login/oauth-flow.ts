/** Logs in at an MCP server as its authorization server wants it: OAuth 2.1 as the Model Context Protocol has it ("Authorization"). */

import type * as Sdk from '@modelcontextprotocol/client';

import { checkerWords } from '@svc/kit/diagnostics/checker-words.ts';
import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { printable, shortened } from '@svc/kit/diagnostics/printable.ts';
import { bearerFields } from '@svc/kit/http/challenges.ts';
import type { ProxyFor } from '@svc/kit/net/proxy.ts';
import { redirectTarget, type RedirectSource } from '@svc/kit/net/redirect-rule.ts';
import { version } from '@svc/kit/version.ts';
import type { KeptLogin } from '@svc/session/tools/mcp/login/kept-login.ts';
import { askedBy, loginFetch } from '@svc/session/tools/mcp/login/login-fetch.ts';
import { keptTokens, ledByServer } from '@svc/session/tools/mcp/login/token-answer.ts';
import { connectionsTo } from '@svc/session/tools/mcp/remote-server.ts';

const maxSaid = 300;
const maxScope = 2000;

export interface Asking {
  readonly proxyFor: ProxyFor;
  readonly signal: AbortSignal;
}

/** Where a server has its clients log in. */
export interface LoginOffer {
  readonly server: URL;
  readonly ledBy: RedirectSource;
  readonly resource: string;
  readonly metadata: Sdk.AuthorizationServerMetadata;
  /** What the server wants; undefined where it does not say. */
  readonly scope: string | undefined;
}

/** Asks the server, and then the authorization server that it names. `E-RUN-240` for what no login may come of. */
export async function findOffer(server: URL, asking: Asking): Promise<LoginOffer> {
  const sdk = await import('@modelcontextprotocol/client');
  const { response, address } = await greeted(server, asking);
  const ledBy = ledByServer(server, address);
  const fetchFn = loginFetch({ ledBy, ...asking });
  // The library finds nothing where another scheme comes first.
  const challenge = bearerFields(response.headers.get('www-authenticate') ?? '');
  const place = challenge.get('resource_metadata') ?? '';
  const named = URL.canParse(place) ? new URL(place) : undefined;
  if (named !== undefined && named.origin !== server.origin)
    throw refused(server, `says of itself only at ${printable(named.origin)}, which is another origin`);
  const asksNobody = (error: unknown): never => {
    if (!response.ok || !(error instanceof Diagnostic)) throw error;
    throw refused(server, 'asks nobody to log in');
  };
  const own = await understood(server, () =>
    sdk.discoverOAuthProtectedResourceMetadata(
      server,
      named === undefined ? {} : { resourceMetadataUrl: named },
      fetchFn,
    ),
  ).catch(asksNobody);
  const { resource, authorization_servers: [issuer] = [], scopes_supported: scopes } = own;
  if (!sdk.checkResourceAllowed({ requestedResource: server, configuredResource: resource }))
    throw refused(server, `says that it is ${printable(shortened(resource, maxSaid))}`);
  if (issuer === undefined) throw refused(server, 'names no authorization server');
  const at = redirectTarget(issuer, ledBy);
  const metadata = await understood(at, () => sdk.discoverAuthorizationServerMetadata(issuer, { fetchFn }));
  if (metadata === undefined) throw refused(at, 'has no metadata of an authorization server');
  if (metadata.code_challenge_methods_supported?.includes('S256') !== true)
    throw refused(at, 'does not announce PKCE with S256, without which others could use the answer');
  if (!metadata.response_types_supported.includes('code')) throw refused(at, 'gives no codes, which svc asks for');
  redirectTarget(metadata.authorization_endpoint, ledBy);
  const wanted = challenge.get('scope') ?? scopes?.join(' ');
  const isLasting = metadata.scopes_supported?.includes('offline_access') === true;
  const scope = sdk.computeScopeUnion(wanted, isLasting ? 'offline_access' : undefined)?.slice(0, maxScope);
  return { server, ledBy, resource, metadata, scope };
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
      signal,
    });
    return proxyFor(server) === null ? answer : { ...answer, address: null };
  } finally {
    connections.close();
  }
}

/** As which client `svc` is known: the one that is given, or one that is registered for this login (RFC 7591). */
export async function clientFor(
  { metadata, ledBy }: LoginOffer,
  {
    redirect,
    scope,
    given,
  }: { readonly redirect: string; readonly scope: string | undefined; readonly given: string | null },
  asking: Asking,
): Promise<KeptLogin['client']> {
  if (given !== null) return { client_id: given, client_secret: null, is_given: true };
  const issuer = new URL(metadata.issuer);
  if (metadata.registration_endpoint === undefined)
    throw refused(issuer, 'registers no clients', 'register svc there, and name it with --client-id');
  const { registerClient } = await import('@modelcontextprotocol/client');
  const { client_id: id, client_secret: secret } = await understood(issuer, () =>
    registerClient(metadata.issuer, {
      metadata,
      clientMetadata: {
        client_name: 'svc',
        redirect_uris: [redirect],
        grant_types: ['authorization_code', 'refresh_token'],
        response_types: ['code'],
        token_endpoint_auth_method: 'none',
        application_type: 'native',
      },
      ...(scope === undefined ? {} : { scope }),
      fetchFn: loginFetch({ ledBy, ...asking }),
    }),
  );
  return { client_id: id, client_secret: secret ?? null, is_given: false };
}

interface BegunLogin {
  readonly client: KeptLogin['client'];
  readonly redirect: string;
  readonly verifier: string;
}

/** What came back from the browser is worth a login. */
export async function takeLogin(
  { server, resource, metadata, ledBy }: LoginOffer,
  { client, redirect, verifier }: BegunLogin,
  { given, nowMs, asking }: { readonly given: URLSearchParams; readonly nowMs: number; readonly asking: Asking },
): Promise<Omit<KeptLogin, 'used_by'>> {
  const issuer = new URL(metadata.issuer);
  const { exchangeAuthorization, validateAuthorizationResponseIssuer } = await import('@modelcontextprotocol/client');
  const iss = given.get('iss') ?? undefined;
  await understood(issuer, async () =>
    validateAuthorizationResponseIssuer({
      iss,
      expectedIssuer: metadata.issuer,
      issParameterSupported: metadata.authorization_response_iss_parameter_supported === true,
    }),
  );
  const error = given.get('error');
  if (error !== null)
    throw refused(
      issuer,
      `refused the login: ${printable(shortened(`${error} ${given.get('error_description') ?? ''}`.trim(), maxSaid))}`,
    );
  const { client_id: id, client_secret: secret } = client;
  const answer = await understood(issuer, () =>
    exchangeAuthorization(metadata.issuer, {
      metadata,
      clientInformation: { client_id: id, ...(secret === null ? {} : { client_secret: secret }) },
      authorizationCode: given.get('code') ?? '',
      ...(iss === undefined ? {} : { iss }),
      codeVerifier: verifier,
      redirectUri: redirect,
      resource,
      fetchFn: loginFetch({ ledBy, ...asking }),
    }),
  );
  return {
    server: server.href,
    address: ledBy.address,
    resource,
    issuer: metadata.issuer,
    endpoints: {
      authorization_endpoint: metadata.authorization_endpoint,
      token_endpoint: metadata.token_endpoint,
      revocation_endpoint: ('revocation_endpoint' in metadata ? metadata.revocation_endpoint : undefined) ?? null,
      methods: metadata.token_endpoint_auth_methods_supported ?? null,
    },
    client,
    tokens: keptTokens(answer, nowMs),
  };
}

/** Errors of the library are about what it was sent. */
async function understood<T>(asked: URL, ask: () => Promise<T>): Promise<T> {
  try {
    return await ask();
  } catch (error) {
    if (error instanceof Diagnostic || !(error instanceof Error)) throw error;
    const words = checkerWords(error.message) ?? error.message;
    throw refused(asked, `answered what no login comes of: ${printable(shortened(words, maxSaid))}`);
  }
}

function refused({ origin, pathname }: URL, what: string, hint?: string): Diagnostic {
  return new Diagnostic(
    'E-RUN-240',
    `${origin}${pathname === '/' ? '' : pathname} ${what}`,
    hint === undefined ? {} : { hint },
  );
}
