/** Turns answers of an authorization server into what a login keeps, and a login into what the library of the protocol takes. */

import type * as Sdk from '@modelcontextprotocol/client';
import type {
  AddClientAuthentication,
  AuthorizationServerMetadata,
  OAuthClientInformation,
  OAuthTokens,
} from '@modelcontextprotocol/client';
import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { printable } from '@svc/kit/diagnostics/printable.ts';
import type { RedirectSource } from '@svc/kit/net/redirect-rule.ts';
import { isHeaderValue } from '@svc/protocol/header-syntax.ts';
import type { KeptLogin } from './kept-login.ts';

/** Errors after which no request with the same refresh token will do (RFC 6749 §5.2). */
export const endingErrors: ReadonlySet<string> = new Set(['invalid_grant', 'invalid_client', 'unauthorized_client']);
const maxToken = 32 * 1024;
/** An access token is renewed so long before it expires, or at half of its time where that is shorter. */
const earlyMs = 30_000;
const longestSecs = 10 * 365 * 24 * 60 * 60;

/** What is kept of tokens that were given just now. `E-RUN-240` for one that no request can show. */
export function keptTokens(
  { access_token: access, refresh_token: refresh, token_type: type, scope, expires_in: secs }: OAuthTokens,
  nowMs: number,
  before?: KeptLogin['tokens'],
): KeptLogin['tokens'] {
  if (type.toLowerCase() !== 'bearer')
    throw unfit(`a token of the type ${printable(type.slice(0, 40))}, and not Bearer`);
  for (const token of [access, refresh ?? access])
    if (token === '' || token.length > maxToken || !isHeaderValue(token))
      throw unfit('a token that no request can show');
  const lifeMs = secs === undefined || !(secs > 0) ? null : Math.min(secs, longestSecs) * 1000;
  return {
    access_token: access,
    refresh_token: refresh ?? before?.refresh_token ?? null,
    scope: scope ?? before?.scope ?? null,
    renew_at_ms: lifeMs === null ? null : Math.floor(nowMs + Math.max(lifeMs - earlyMs, lifeMs / 2)),
  };
}

/** The login once nothing can be had with it any more. */
export function ended(login: KeptLogin): KeptLogin {
  return { ...login, tokens: { ...login.tokens, refresh_token: null, renew_at_ms: 0 } };
}

export function metadataOf({ issuer, endpoints }: KeptLogin): AuthorizationServerMetadata {
  const { authorization_endpoint: authorize, token_endpoint: token, methods } = endpoints;
  return {
    issuer,
    authorization_endpoint: authorize,
    token_endpoint: token,
    response_types_supported: ['code'],
    ...(methods == null ? {} : { token_endpoint_auth_methods_supported: [...methods] }),
  };
}

export function clientOf({
  client: { client_id: id, client_secret: secret },
}: Pick<KeptLogin, 'client'>): OAuthClientInformation {
  return { client_id: id, ...(secret == null ? {} : { client_secret: secret }) };
}

/** Shows the token endpoint who asks. The library does not encode id and secret in the header, as RFC 6749 §2.3.1 has it. */
export function clientShown(
  { selectClientAuthMethod }: Pick<typeof Sdk, 'selectClientAuthMethod'>,
  client: OAuthClientInformation,
): AddClientAuthentication {
  return (headers, params, _url, metadata) => {
    const { client_id: id, client_secret: secret = '' } = client;
    const method = selectClientAuthMethod(client, metadata?.token_endpoint_auth_methods_supported ?? []);
    if (method === 'client_secret_basic') {
      const pair = `${formEncoded(id)}:${formEncoded(secret)}`;
      headers.set('authorization', `Basic ${Buffer.from(pair).toString('base64')}`);
      return;
    }
    params.set('client_id', id);
    if (method === 'client_secret_post') params.set('client_secret', secret);
  };
}

function formEncoded(text: string): string {
  return new URLSearchParams([['', text]]).toString().slice(1);
}

/** A server names the places where its logins are given: no further inside than it is itself. */
export function ledByServer(server: URL, address: string | null): RedirectSource {
  return {
    label: `the MCP server ${server.href}`,
    url: server,
    address,
    refusal: (where, why) =>
      new Diagnostic('E-RUN-240', `the MCP server ${server.href} sends logins to ${where}, ${why}`, {
        hint: 'tell those who run the server',
      }),
  };
}

function unfit(what: string): Diagnostic {
  return new Diagnostic('E-RUN-240', `the authorization server gives ${what}`);
}
