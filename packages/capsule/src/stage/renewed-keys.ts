/** Makes the access tokens of credentials that are renewed. */

import { besideValue } from '@svc/artifacts/manifest/loaded-manifest.ts';
import type { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import type { AccessTokens } from '@svc/kit/keys/bound-host.ts';
import { systemClock } from '@svc/kit/system-clock.ts';
import { RefreshedKey } from '@svc/session/tools/mcp/login/refreshed-key.ts';
import type { PreparedLaunch } from '../launch/prepare.ts';

/** The tokens by the names of their credentials, without those whose key is missing. No server is asked yet. */
export function renewedKeys(
  { grants, loaded, network, redactor }: PreparedLaunch,
  onReplaced: (warning: Diagnostic) => void,
): ReadonlyMap<string, AccessTokens> {
  const keys = grants.credentials.flatMap(({ name, user, tokenEndpoint }) => {
    const refreshToken = loaded.credentials?.get(name);
    if (tokenEndpoint === null || refreshToken === undefined) return [];
    const settings = {
      credential: name,
      endpoint: new URL(tokenEndpoint),
      clientId: user,
      clientSecret: loaded.credentials?.get(besideValue(name, 'client_secret')) ?? null,
      refreshToken,
      proxyFor: network.proxyFor,
      now: () => systemClock.now(),
      onSecret: redactor.register.bind(redactor),
      onEnded: redactor.forget.bind(redactor),
      onReplaced,
    };
    return [[name, new RefreshedKey(settings)] as const];
  });
  return new Map(keys);
}
