/** Reads the challenge of a registry that asks for a login, and writes the request with which its token service is asked for a token. */

import type { Secret } from '@svc/kit/diagnostics/secret.ts';

/** `Bearer realm="…",service="…"`: the texts in quotes, by their names in small letters. */
export function challengeFields(challenge: string): ReadonlyMap<string, string> {
  return new Map(
    [...challenge.slice(0, 8192).matchAll(/([A-Za-z_]{1,40})="([^"]*)"/g)].map(([, key = '', value = '']) => [
      key.toLowerCase(),
      value,
    ]),
  );
}

/** The address of a token service with a question in it; what is empty is not asked. */
export function withQuery(realm: URL, query: Readonly<Record<string, string>>): URL {
  const url = new URL(realm);
  for (const [name, value] of Object.entries(query)) if (value !== '') url.searchParams.set(name, value);
  return url;
}

/** The same question of who has an identity instead of a password. */
export function identityForm({ service, scope, token }: { service: string; scope: string; token: Secret }): string {
  const fields = { grant_type: 'refresh_token', service, scope, refresh_token: token.reveal(), client_id: 'svc' };
  return new URLSearchParams(fields).toString();
}
