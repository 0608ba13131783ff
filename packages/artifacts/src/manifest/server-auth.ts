/** Makes the header that an MCP server on the web is shown. */

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { Secret } from '@svc/kit/diagnostics/secret.ts';
import type { Environment } from '@svc/kit/environment.ts';
import { isHeaderValue } from '@svc/protocol/header-syntax.ts';
import { referencedVariable } from './references.ts';
import type { ArtifactEntry } from './schema.ts';

/** The variable that `auth` of an entry names; null without one. */
export function authVariable({ auth }: Pick<ArtifactEntry, 'auth'>): string | null {
  if (auth === undefined) return null;
  return referencedVariable(typeof auth === 'string' ? auth : auth.value) ?? null;
}

/** What the variable of an entry holds; null without one, and where it is not set. */
function authSecret(entry: Pick<ArtifactEntry, 'auth'>, env: Environment): Secret | null {
  const variable = authVariable(entry);
  const value = variable === null ? '' : (env[variable] ?? '');
  return value === '' ? null : new Secret(value);
}

/** The same of all entries. */
export function authSecrets(entries: readonly Pick<ArtifactEntry, 'auth'>[], env: Environment): readonly Secret[] {
  return entries.flatMap((entry) => authSecret(entry, env) ?? []);
}

/** The headers of each request to the server of an entry. `E-MAN-003` for a variable that is not set, or that no header can carry. */
export function authHeaders(
  entry: Pick<ArtifactEntry, 'name' | 'auth'>,
  env: Environment,
): Readonly<Record<string, string>> {
  const { name, auth } = entry;
  if (auth === undefined) return {};
  const value = authSecret(entry, env)?.reveal();
  if (value === undefined || !isHeaderValue(value)) {
    const variable = authVariable(entry);
    const fault = value === undefined ? 'is not set' : 'holds what no header can carry';
    throw new Diagnostic('E-MAN-003', `auth of ${name} refers to the variable ${variable}, which ${fault}`, {
      hint: `set ${variable} in the environment or in the .env file beside the manifest`,
    });
  }
  return typeof auth === 'string' ? { authorization: `Bearer ${value}` } : { [auth.header.toLowerCase()]: value };
}
