/** Makes the header that an MCP server on the web is shown. Few starts need it, so it stands apart from `server-auth.ts`. */

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import type { Environment } from '@svc/kit/environment.ts';
import { isHeaderValue } from '@svc/protocol/header-syntax.ts';
import { ofLogin } from './names.ts';
import type { ArtifactEntry, ServerAuth } from './schema.ts';
import { authSecrets, authVariable } from './server-auth.ts';

type AuthEntry = Pick<ArtifactEntry, 'name' | 'auth'>;

/** The headers of each request to the server of an entry. `E-MAN-003` for a variable that is not set, or that no header can carry. */
export function authHeaders(entry: AuthEntry, env: Environment): Readonly<Record<string, string>> {
  const { auth } = entry;
  if (auth === undefined || auth === ofLogin || isOwnClient(auth)) return {};
  const value = authValue(entry, env);
  if (!isHeaderValue(value)) throw unfit(entry, 'holds what no header can carry');
  return typeof auth === 'string' ? { authorization: `Bearer ${value}` } : { [auth.header.toLowerCase()]: value };
}

export interface OwnClient {
  readonly clientId: string;
  readonly clientSecret: string;
  readonly issuer: string;
}

/** The client as which `svc` gets tokens for the server of an entry; null for another `auth`. `E-MAN-003` for a variable that is not set. */
export function authClient(entry: AuthEntry, env: Environment): OwnClient | null {
  const { auth } = entry;
  if (auth === undefined || !isOwnClient(auth)) return null;
  return { clientId: auth.client_id, clientSecret: authValue(entry, env), issuer: auth.issuer };
}

function isOwnClient(auth: ServerAuth): auth is Extract<ServerAuth, { readonly client_id: string }> {
  return typeof auth === 'object' && 'client_id' in auth;
}

function authValue(entry: AuthEntry, env: Environment): string {
  const value = authSecrets([entry], env)[0]?.reveal();
  if (value === undefined) throw unfit(entry, 'is not set');
  return value;
}

function unfit(entry: AuthEntry, fault: string): Diagnostic {
  const variable = authVariable(entry);
  return new Diagnostic('E-MAN-003', `auth of ${entry.name} refers to the variable ${variable}, which ${fault}`, {
    hint: `set ${variable} in the environment or in the .env file beside the manifest`,
  });
}
