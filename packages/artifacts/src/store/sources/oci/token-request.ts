/** Writes the request for a token to the token service of a registry. */

import type { Secret } from '@svc/kit/diagnostics/secret.ts';

/** The address of a token service with these parameters; leaves out empty ones. */
export function withQuery(realm: URL, query: Readonly<Record<string, string>>): URL {
  const url = new URL(realm);
  for (const [name, value] of Object.entries(query)) if (value !== '') url.searchParams.set(name, value);
  return url;
}

/** The same parameters as a form, with an identity token instead of a password. */
export function identityForm({ service, scope, token }: { service: string; scope: string; token: Secret }): string {
  const fields = { grant_type: 'refresh_token', service, scope, refresh_token: token.reveal(), client_id: 'svc' };
  return new URLSearchParams(fields).toString();
}
