/** Logs in at an MCP server as its authorization server wants it: OAuth 2.1 as the Model Context Protocol has it ("Authorization"). */

import { printable, shortened } from '@svc/kit/diagnostics/printable.ts';
import { redirectTarget } from '@svc/kit/net/redirect-rule.ts';
import type { KeptLogin } from '@svc/session/tools/mcp/login/kept-login.ts';
import { loginFetch } from '@svc/session/tools/mcp/login/login-fetch.ts';
import {
  type Asking,
  findOffer,
  type LoginOffer,
  refused,
  understood,
} from '@svc/session/tools/mcp/login/login-offer.ts';
import { clientOf, clientShown, keptTokens } from '@svc/session/tools/mcp/login/token-answer.ts';

const maxSaid = 300;

/** Asks the server, and looks whether a person can log in there: with a code, by PKCE. `E-RUN-240` where not. */
export async function findCodeOffer(server: URL, asking: Asking): Promise<LoginOffer> {
  const offer = await findOffer(server, asking);
  const { metadata, ledBy, scope: wanted } = offer;
  const at = new URL(metadata.issuer);
  if (metadata.code_challenge_methods_supported?.includes('S256') !== true)
    throw refused(at, 'does not announce PKCE with S256, without which others could use the answer');
  if (!metadata.response_types_supported.includes('code')) throw refused(at, 'gives no codes, which svc asks for');
  redirectTarget(metadata.authorization_endpoint, ledBy);
  const isLasting = metadata.scopes_supported?.includes('offline_access') === true;
  const { computeScopeUnion } = await import('@modelcontextprotocol/client');
  return { ...offer, scope: computeScopeUnion(wanted, isLasting ? 'offline_access' : undefined) };
}

interface WantedClient {
  readonly redirect: string;
  readonly scope: string | undefined;
  /** The client that a person names. */
  readonly given: string | null;
  /** The address of the document that says who `svc` is. */
  readonly document: string | null;
}

/** As which client `svc` is known: the one that is given, its own document, or one that is registered for this login (RFC 7591). */
export async function clientFor(
  { metadata, ledBy }: LoginOffer,
  { redirect, scope, given, document }: WantedClient,
  asking: Asking,
): Promise<KeptLogin['client']> {
  if (given !== null) return { client_id: given, client_secret: null, is_given: true };
  if (document !== null && metadata.client_id_metadata_document_supported === true)
    return { client_id: document, client_secret: null, is_given: false };
  const issuer = new URL(metadata.issuer);
  if (metadata.registration_endpoint === undefined) {
    const what = document === null ? 'registers no clients' : 'registers no clients, and reads no documents of clients';
    throw refused(issuer, what, 'register svc there, and name it with --client-id');
  }
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
  { server, resource, metadata, revocation, ledBy }: LoginOffer,
  { client, redirect, verifier }: BegunLogin,
  { given, nowMs, asking }: { readonly given: URLSearchParams; readonly nowMs: number; readonly asking: Asking },
): Promise<Omit<KeptLogin, 'used_by'>> {
  const issuer = new URL(metadata.issuer);
  const sdk = await import('@modelcontextprotocol/client');
  const iss = given.get('iss') ?? undefined;
  await understood(issuer, async () =>
    sdk.validateAuthorizationResponseIssuer({
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
  const clientInformation = clientOf({ client });
  const answer = await understood(issuer, () =>
    sdk.exchangeAuthorization(metadata.issuer, {
      metadata,
      clientInformation,
      addClientAuthentication: clientShown(sdk, clientInformation),
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
      revocation_endpoint: revocation,
      methods: metadata.token_endpoint_auth_methods_supported ?? null,
    },
    client,
    tokens: keptTokens(answer, nowMs),
  };
}
