/** Finds what MCP servers on the web are shown. */

import { Secret } from '@svc/kit/diagnostics/secret.ts';
import type { Environment } from '@svc/kit/environment.ts';
import { ofLogin } from './names.ts';
import type { ArtifactEntry } from './schema.ts';

/** The variable that `auth` of an entry names, as `${NAME}`; null without one. */
export function authVariable({ auth }: Pick<ArtifactEntry, 'auth'>): string | null {
  if (auth === undefined || auth === ofLogin) return null;
  return (typeof auth === 'string' ? auth : 'value' in auth ? auth.value : auth.client_secret).slice(2, -1);
}

/** What the server is shown, in words for reports; null where that is nothing. */
export function authShown({ auth }: Pick<ArtifactEntry, 'auth'>): string | null {
  const variable = authVariable({ auth });
  if (typeof auth === 'object' && 'client_id' in auth) return `client ${auth.client_id} by ${variable}`;
  return auth === ofLogin ? ofLogin : variable;
}

/** What the variables of entries hold, as far as they are set. */
export function authSecrets(entries: readonly Pick<ArtifactEntry, 'auth'>[], env: Environment): readonly Secret[] {
  return entries.flatMap((entry) => {
    const value = env[authVariable(entry) ?? ''] ?? '';
    return value === '' ? [] : [new Secret(value)];
  });
}
