/** Reads the challenge of a registry that requires a login, and writes the request for a token to its token service. */

import type { Secret } from '@svc/kit/diagnostics/secret.ts';

interface Challenge {
  /** In small letters, like the names of its fields. */
  readonly scheme: string;
  readonly fields: ReadonlyMap<string, string>;
}

const longest = 8192;
/** A scheme, or a field with its value, which may stand without quotes. */
const part = /[\s,]*([^\s,="]+)(?:\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s,"]*)))?/gy;

/** All challenges of a header, or of several that were joined: `Basic realm="…", Bearer realm="…",service="…"`. */
export function challengesIn(header: string): readonly Challenge[] {
  const found: { readonly scheme: string; readonly fields: Map<string, string> }[] = [];
  for (const [, name = '', quoted, bare] of header.slice(0, longest).matchAll(part)) {
    const value = quoted?.replaceAll(/\\(.)/g, '$1') ?? bare;
    if (value === undefined) found.push({ scheme: name.toLowerCase(), fields: new Map() });
    else found.at(-1)?.fields.set(name.toLowerCase(), value);
  }
  return found;
}

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
