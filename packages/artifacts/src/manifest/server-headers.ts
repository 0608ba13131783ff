/** Makes the header that an MCP server on the web is shown. Few starts need it, so it stands apart from `server-auth.ts`. */

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import type { Environment } from '@svc/kit/environment.ts';
import { isHeaderValue } from '@svc/protocol/header-syntax.ts';
import { ofLogin } from './names.ts';
import type { ArtifactEntry } from './schema.ts';
import { authSecrets, authVariable } from './server-auth.ts';

/** The headers of each request to the server of an entry. `E-MAN-003` for a variable that is not set, or that no header can carry. */
export function authHeaders(
  entry: Pick<ArtifactEntry, 'name' | 'auth'>,
  env: Environment,
): Readonly<Record<string, string>> {
  const { name, auth } = entry;
  if (auth === undefined || auth === ofLogin) return {};
  const value = authSecrets([entry], env)[0]?.reveal();
  if (value === undefined || !isHeaderValue(value)) {
    const variable = authVariable(entry);
    const fault = value === undefined ? 'is not set' : 'holds what no header can carry';
    throw new Diagnostic('E-MAN-003', `auth of ${name} refers to the variable ${variable}, which ${fault}`, {
      hint: `set ${variable} in the environment or in the .env file beside the manifest`,
    });
  }
  return typeof auth === 'string' ? { authorization: `Bearer ${value}` } : { [auth.header.toLowerCase()]: value };
}
