/** Finds the login of this user at an MCP server on the web, for commands that ask it. */

import type { OwnClient } from '@svc/artifacts/manifest/server-headers.ts';
import type { Environment } from '@svc/kit/environment.ts';
import { proxyFor } from '@svc/kit/net/proxy.ts';
import { systemClock } from '@svc/kit/system-clock.ts';
import {
  isOver,
  type LoginPlace,
  loginPlace,
  readLogin,
  usableLogin,
  userOf,
  writeLogin,
} from '@svc/session/tools/mcp/login/kept-login.ts';
import { LoginTokens } from '@svc/session/tools/mcp/login/login-tokens.ts';
import type { ServerTokens } from '@svc/session/tools/mcp/server-requests.ts';
import { withGuard } from '@svc/kit/files/file-guard.ts';

export function ownLoginPlace(server: string, home: string): LoginPlace {
  return loginPlace(server, home, process.getuid?.());
}

interface AskingFolder {
  readonly home: string;
  /** The folder of the manifest; null where a person names the server. */
  readonly folder: string | null;
  readonly env: Environment;
}

/** Whether there is a login that holds. */
export function hasLogin(server: string, home: string): boolean {
  const login = readLogin(ownLoginPlace(server, home));
  return login !== null && !isOver(login, systemClock.now());
}

/** The tokens for a manifest that may use the login. `E-RUN-241` for any other. */
export function loginTokens({ href }: URL, { home, folder, env }: AskingFolder): LoginTokens {
  const place = ownLoginPlace(href, home);
  const now = (): number => systemClock.now();
  const login = usableLogin(place, href, { folder, nowMs: now() });
  return new LoginTokens({ place, login, proxyFor: (url) => proxyFor(url, env), now, ...unheard });
}

/** The tokens of a client for which no person logs in. */
export async function clientTokens(server: URL, client: OwnClient, env: Environment): Promise<ServerTokens> {
  const { ClientTokens } = await import('@svc/session/tools/mcp/login/client-tokens.ts');
  const now = (): number => systemClock.now();
  return new ClientTokens({ server, ...client, proxyFor: (url) => proxyFor(url, env), now, ...unheard });
}

/** A command records nothing. */
const unheard = { onSecret: (): void => {}, onEnded: (): void => {} };

/** Lets the manifest of a folder use a login, as a person who names the server there wants. False without a login that holds. */
export async function useLogin(
  server: string,
  { home, folder }: { readonly home: string; readonly folder: string },
): Promise<boolean> {
  const place = ownLoginPlace(server, home);
  if (readLogin(place) === null) return false;
  return await withGuard(place.path, async () => {
    const login = readLogin(place);
    if (login === null || isOver(login, systemClock.now())) return false;
    const user = userOf(folder);
    if (!login.used_by.includes(user)) await writeLogin(place, { ...login, used_by: [...login.used_by, user] });
    return true;
  });
}
