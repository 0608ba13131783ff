/** Decides whom the listener of a capsule lets in. */

import { lstatSync } from 'node:fs';

import { isLoopbackAddress, isLoopbackHost } from '@svc/kit/http/hygiene.ts';
import { systemClock } from '@svc/kit/system-clock.ts';
import { unlessRefused } from '@svc/kit/files/unless-refused.ts';
import { TokenCallers } from '@svc/doors/callers/callers.ts';
import { type TokenPlace, tokenPlace } from '@svc/doors/callers/token-place.ts';
import type { PreparedLaunch } from '../launch/prepare.ts';
import type { PersonKey } from './person-key.ts';
import type { RunObserver, RunRequest } from '../launch/running-capsule.ts';

/**
 * Door tokens guard a listener that other machines reach from its start, also without a listener token: throws `E-RUN-150` or `E-RUN-151` where
 * their file cannot be used. Nobody looks for the file of any other listener before a token is shown there.
 */
export async function callersOf(
  { home, bind }: Pick<RunRequest, 'home' | 'bind'>,
  {
    listenerToken,
    loaded,
    redactor,
    personKey,
  }: Pick<PreparedLaunch, 'listenerToken' | 'loaded' | 'redactor'> & { readonly personKey: PersonKey | null },
  { onWarning }: Pick<RunObserver, 'onWarning'>,
): Promise<TokenCallers> {
  const place = tokenPlace(home, process.getuid?.());
  return new TokenCallers({
    listenerToken,
    personKey: personKey?.secret ?? null,
    isGuarded: !isPrivate(bind) && listenerToken === null && (await hasTokens(place)),
    capsule: loaded.manifest.name,
    place,
    clock: systemClock,
    onToken: (token) => redactor.register(token),
    onProblem: onWarning,
  });
}

/** Whether a listener at this address is for this machine alone. */
export function isPrivate(bind: string): boolean {
  return isLoopbackAddress(bind) || isLoopbackHost(bind);
}

async function hasTokens(place: TokenPlace): Promise<boolean> {
  // What cannot even be looked at is for the reading to refuse.
  const found = unlessRefused(() => lstatSync(place.path, { throwIfNoEntry: false }), null);
  if (found === undefined) return false;
  const { readTokens } = await import('@svc/doors/callers/token-file.ts');
  readTokens(place);
  return true;
}
